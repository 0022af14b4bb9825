#include "tce_tiles/checks/doubles_equation.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
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

/// Molecules that are converged to 1e-11, with all arrays: HF at 1.6 Angstrom, and NH2 with three different bonds.
constexpr const char* closed_shell_dump = "hf_160_631g_rhf_moments";
constexpr const char* dump_of_spins = "nh2_sto3g_uhf_fc1_moments";

std::string path_of_moments(const std::string& name) {
  return (test_data() / "dumps" / (name + ".h5")).string();
}

struct Input {
  explicit Input(const std::string& name = closed_shell_dump)
      : arrays(read_raw_dump(path_of_moments(name))), info(open_dump(path_of_moments(name), 4, 4)->info()) {}

  RawDump arrays;
  SourceInfo info;
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

class DoublesEquation : public ::testing::TestWithParam<const char*> {
 protected:
  Input input() const { return Input(GetParam()); }
  /// The names of the arrays of these kinds.
  std::vector<std::string> names(std::initializer_list<const char*> kinds) const {
    std::vector<std::string> found;
    for (const auto& [name, data] : input().arrays.datasets) {
      for (const std::string kind : kinds) {
        if (name == kind || name.starts_with(kind + "_")) found.push_back(name);
      }
    }
    return found;
  }
};

TEST_P(DoublesEquation, ConvergedAmplitudesSatisfyIt) {
  EXPECT_LT(input().residual([](RawDump&) {}).step, 1e-11);
  const auto dump = open_dump(path_of_moments(GetParam()), 4, 4);
  for (const int threads : {1, 3}) EXPECT_LT(doubles_residual(*dense_input_of(*dump), threads, nullptr).step, 1e-11);
}

TEST_P(DoublesEquation, SeesMistakesInEachArray) {
  const std::map<std::string, std::array<std::size_t, 4>> orders = {
      {"oooo", {0, 2, 1, 3}}, {"kvvv", {0, 2, 1, 3}}, {"ladder", {1, 0, 2, 3}}};
  for (const std::string& name : names({"oooo", "kvvv", "ladder"})) {
    const auto scaled = [&](double factor, std::size_t parts) {
      return input()
          .residual([&](RawDump& dump) {
            Values& values = dump.datasets[name].values;
            for (std::size_t k = 0; k < values.size() / parts; ++k) values[k] *= factor;
          })
          .step;
    };
    EXPECT_GT(scaled(-1.0, 1), 1e-4) << name;
    EXPECT_GT(scaled(0.0, 1), 5e-5) << name;
    EXPECT_GT(scaled(1.0001, 1), 5e-9) << name;
    EXPECT_GT(scaled(1.01, static_cast<std::size_t>(input().arrays.datasets[name].shape[0])), 1e-10) << name;
    const auto shape = input().arrays.datasets[name].shape;  // input() is a temporary object
    const std::array<std::size_t, 4>& order = orders.at(name.substr(0, name.find('_')));
    // Arrays of two spins have other shapes in another order.
    if (shape[0] != shape[order[0]] || shape[1] != shape[order[1]]) continue;
    EXPECT_GT(input().residual([&](RawDump& dump) { permute(dump.datasets[name], order); }).step, 1e-5) << name;
  }
}

TEST_P(DoublesEquation, SeesTheOtherArrays) {
  for (const std::string& name : names({"t1", "t2", "fock", "ovoo", "oovv", "ovov", "ovvv"})) {
    const DoublesResidual found = input().residual([&](RawDump& dump) {
      for (double& x : dump.datasets[name].values) x *= 1.0001;
    });
    EXPECT_GT(found.step, 1e-8) << name;
  }
}

TEST_P(DoublesEquation, ContainsTheShiftOfRegularisedAmplitudes) {
  constexpr double omega2 = 0.1;
  Input input = this->input();
  input.info.amplitudes = AmplitudeKind::regularized_ccsd;
  input.info.omega2 = omega2;
  const auto lower = [&](RawDump& dump) {
    for (auto& [name, data] : dump.datasets) {
      if (name.starts_with("eps_vir"))
        for (double& e : data.values) e -= omega2;
      if (!name.starts_with("fock")) continue;
      const std::string spin = name.substr(4);
      const auto o = dump.datasets["t1" + spin].shape[0], all = data.shape[0];
      for (std::int64_t a = o; a < all; ++a) data.values[static_cast<std::size_t>(a * (all + 1))] -= omega2;
    }
  };
  EXPECT_LT(input.residual(lower).step, 1e-11);
  input.info.omega2 = 0.2;
  EXPECT_GT(input.residual([](RawDump&) {}).step, 1e-4);
}

TEST_P(DoublesEquation, IsAWitness) {
  Input good = input();
  EXPECT_EQ(good.witness().status, WitnessStatus::passed);
  EXPECT_EQ(good.witness().limit, 1e-10);  // of the convergence that the dump states
  Input wrong = input();
  const bool spins = wrong.arrays.datasets.contains("t2_ab");
  for (double& x : wrong.arrays.datasets[spins ? "kvvv_aabb" : "kvvv"].values) x = -x;
  EXPECT_EQ(wrong.witness().status, WitnessStatus::failed);
  const auto source = wrong.open();
  const std::string text = message<InputError>([&] { verify_source(*source, *source); });
  EXPECT_NE(text.find(std::string("do not satisfy the CCSD equation of the double excitations: the next iteration "
                                  "would change t2") +
                      (spins ? "_ab[" : "[")),
            std::string::npos)
      << text;
}

TEST_P(DoublesEquation, NamesWhatIsMissing) {
  for (const std::string& name : names({"oooo", "kvvv", "ladder", "oovv"})) {
    Input few = input();
    few.arrays.datasets.erase(name);
    const Witness found = few.witness();
    EXPECT_EQ(found.status, WitnessStatus::unknown);
    EXPECT_EQ(found.note, name + " is missing");
  }
  Input none = input();
  for (const std::string& name : names({"oooo", "kvvv", "ladder", "vvvv_diag", "oovv"}))
    none.arrays.datasets.erase(name);
  EXPECT_EQ(none.witness().name, "");
}

TEST_P(DoublesEquation, Stops) {
  const auto dump = open_dump(path_of_moments(GetParam()), 4, 4);
  const std::atomic<bool> stop = true;
  EXPECT_THROW(doubles_residual(*dense_input_of(*dump), 1, &stop), Interrupted);
}

INSTANTIATE_TEST_SUITE_P(Of, DoublesEquation, ::testing::Values(closed_shell_dump, dump_of_spins),
                         [](const auto& test) { return std::string(test.param); });

TEST(DoublesEquationOfSpins, IsNotKnownForAntisymmetrisedIntegrals) {
  Input input(dump_of_spins);
  RawDump::Dataset& kvvv = input.arrays.datasets["kvvv_aaaa"];
  const Values plain = kvvv.values;
  permute(kvvv, {0, 2, 1, 3});
  for (std::size_t n = 0; n < plain.size(); ++n) kvvv.values[n] = plain[n] - kvvv.values[n];
  input.arrays.datasets["asym_kvvv_aaaa"] = kvvv;
  input.arrays.datasets.erase("kvvv_aaaa");
  EXPECT_EQ(input.witness().note, "it is known for integrals that are not antisymmetrised only, and asym_kvvv_aaaa is");
}

}
}
