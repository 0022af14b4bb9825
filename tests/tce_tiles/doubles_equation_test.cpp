#include "tce_tiles/checks/doubles_equation.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "cxx/base/error.hpp"
#include "tce_tiles/checks/source_check.hpp"
#include "tce_tiles/dense/dense_source.hpp"
#include "tce_tiles/dump_files/dump_source.hpp"
#include "tests/support/expected_energies.hpp"
#include "tests/support/held_arrays.hpp"

/// The CCSD equation of the double excitations tests the arrays for dressed moments.
namespace trifuse::testing {
namespace {

using Values = std::vector<double>;

std::string dump_path() {
  return (test_data() / "dumps" / "hf_160_631g_rhf_moments.h5").string();
}

/// HF at 1.6 Angstrom, converged to 1e-11, with all arrays.
struct Input {
  RawDump arrays = read_raw_dump(dump_path());
  SourceInfo info = open_dump(dump_path(), 4, 4)->info();
  std::shared_ptr<HeldArrays> held = nullptr;

  std::unique_ptr<TileSource> open() {
    info.files.clear();
    held = std::make_shared<HeldArrays>(arrays, HeldArrays::Layout::c_order);
    return held->open(info);
  }
  /// The residual of the arrays after `change`.
  DoublesResidual residual(const std::function<void(RawDump&)>& change) {
    change(arrays);
    const auto source = open();
    return doubles_residual(*dense_input_of(*source), 1, nullptr);
  }
  /// The witness of the equation; without a name if there is none.
  Witness witness() {
    const auto source = open();
    for (const Witness& each : check_source(*source, *source, {.threads = 1}).witnesses) {
      if (each.name == "doubles equation") return each;
    }
    return {};
  }
};

/// x[p] = old x[q] with q[k] = p[axes[k]].
void permute(RawDump::Dataset& data, const std::array<std::size_t, 4>& axes) {
  const Values old = data.values;
  const auto& n = data.shape;
  std::array<std::int64_t, 4> p{};
  std::size_t to = 0;
  for (p[0] = 0; p[0] < n[0]; ++p[0]) {
    for (p[1] = 0; p[1] < n[1]; ++p[1]) {
      for (p[2] = 0; p[2] < n[2]; ++p[2]) {
        for (p[3] = 0; p[3] < n[3]; ++p[3], ++to) {
          std::int64_t from = 0;
          for (std::size_t k = 0; k < 4; ++k) from = from * n[k] + p[axes[k]];
          data.values[to] = old[static_cast<std::size_t>(from)];
        }
      }
    }
  }
}

TEST(DoublesEquation, ConvergedAmplitudesSatisfyIt) {
  EXPECT_LT(Input().residual([](RawDump&) {}).step, 1e-11);
  const auto dump = open_dump(dump_path(), 4, 4);
  for (const int threads : {1, 3}) EXPECT_LT(doubles_residual(*dense_input_of(*dump), threads, nullptr).step, 1e-11);
}

TEST(DoublesEquation, SeesMistakesInEachArray) {
  const std::map<std::string, std::array<std::size_t, 4>> orders = {
      {"oooo", {0, 2, 1, 3}}, {"kvvv", {0, 2, 1, 3}}, {"ladder", {1, 0, 2, 3}}};
  for (const auto& [name, order] : orders) {
    const auto scaled = [&, key = name](double factor, std::size_t parts) {
      return Input()
          .residual([&](RawDump& dump) {
            Values& values = dump.datasets[key].values;
            for (std::size_t k = 0; k < values.size() / parts; ++k) values[k] *= factor;
          })
          .step;
    };
    EXPECT_GT(scaled(-1.0, 1), 1e-4) << name;
    EXPECT_GT(scaled(0.0, 1), 1e-4) << name;
    EXPECT_GT(scaled(1.0001, 1), 1e-8) << name;
    EXPECT_GT(scaled(1.01, static_cast<std::size_t>(Input().arrays.datasets[name].shape[0])), 1e-10) << name;
    EXPECT_GT(
        Input().residual([&, key = name, axes = order](RawDump& dump) { permute(dump.datasets[key], axes); }).step,
        1e-5)
        << name;
  }
}

TEST(DoublesEquation, SeesTheOtherArrays) {
  for (const char* name : {"t1", "t2", "fock", "ovoo", "oovv", "ovov", "ovvv"}) {
    const DoublesResidual found = Input().residual([&](RawDump& dump) {
      for (double& x : dump.datasets[name].values) x *= 1.0001;
    });
    EXPECT_GT(found.step, 1e-8) << name;
  }
}

TEST(DoublesEquation, ContainsTheShiftOfRegularisedAmplitudes) {
  constexpr double omega2 = 0.1;
  Input input;
  input.info.amplitudes = AmplitudeKind::regularized_ccsd;
  input.info.omega2 = omega2;
  const auto lower = [&](RawDump& dump) {
    const auto o = dump.datasets["t1"].shape[0], v = dump.datasets["t1"].shape[1];
    for (double& e : dump.datasets["eps_vir"].values) e -= omega2;
    for (std::int64_t a = o; a < o + v; ++a) {
      dump.datasets["fock"].values[static_cast<std::size_t>(a * (o + v + 1))] -= omega2;
    }
  };
  EXPECT_LT(input.residual(lower).step, 1e-11);
  input.info.omega2 = 0.2;
  EXPECT_GT(input.residual([](RawDump&) {}).step, 1e-4);
}

TEST(DoublesEquation, IsAWitness) {
  Input good;
  EXPECT_EQ(good.witness().status, WitnessStatus::passed);
  EXPECT_EQ(good.witness().limit, 1e-10);  // of the convergence that the dump states
  Input wrong;
  for (double& x : wrong.arrays.datasets["kvvv"].values) x = -x;
  EXPECT_EQ(wrong.witness().status, WitnessStatus::failed);
  const auto source = wrong.open();
  const std::string text = message<InputError>([&] { verify_source(*source, *source); });
  EXPECT_NE(
      text.find("do not satisfy the CCSD equation of the double excitations: the next iteration would change t2["),
      std::string::npos)
      << text;
}

TEST(DoublesEquation, NamesWhatIsMissing) {
  for (const char* name : {"oooo", "kvvv", "ladder", "oovv"}) {
    Input few;
    few.arrays.datasets.erase(name);
    const Witness found = few.witness();
    EXPECT_EQ(found.status, WitnessStatus::unknown);
    EXPECT_EQ(found.note, std::string(name) + " is missing");
  }
  Input none;
  for (const char* name : {"oooo", "kvvv", "ladder", "vvvv_diag"}) none.arrays.datasets.erase(name);
  EXPECT_EQ(none.witness().name, "");
}

TEST(DoublesEquation, Stops) {
  const auto dump = open_dump(dump_path(), 4, 4);
  const std::atomic<bool> stop = true;
  EXPECT_THROW(doubles_residual(*dense_input_of(*dump), 1, &stop), Interrupted);
}

}
}
