#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "cxx/moments/denominator_tables.hpp"
#include "cxx/moments/moment_operands.hpp"
#include "tce_tiles/hdf5/hdf5_file.hpp"

/// Operands, compared with those of another program: see tests/data/moments/README.md.
namespace trifuse::moments {
namespace {

constexpr double tolerance = 1e-12;  ///< of the largest element

/// The arrays of a file, in memory.
class FileArrays {
 public:
  explicit FileArrays(const std::string& name)
      : file_(Hdf5File::open(std::string(TRIFUSE_TEST_DATA) + "/moments/" + name)) {}

  bool has(const std::string& name) const { return file_.has(name); }
  const std::vector<double>& numbers(const std::string& name) {
    std::vector<double>& numbers = numbers_[name];
    if (numbers.empty()) {
      const Hdf5Dataset dataset = file_.dataset(name);
      numbers.resize(static_cast<std::size_t>(dataset.size()));
      dataset.read_all(numbers);
    }
    return numbers;
  }
  /// Returns null if there is no such array.
  const double* first(const std::string& name) { return has(name) ? numbers(name).data() : nullptr; }
  std::vector<std::int64_t> shape(const std::string& name) const {
    const Hdf5Dataset dataset = file_.dataset(name);
    return {dataset.shape().begin(), dataset.shape().end()};
  }

 private:
  Hdf5File file_;
  std::map<std::string, std::vector<double>> numbers_;
};

std::string letters(Spin s, Spin t) {
  return {"ab"[s], "ab"[t]};
}

/// The names of the arrays of a dump.
struct Names {
  bool closed_shell;

  std::string of_spin(const std::string& name, Spin s) const { return closed_shell ? name : name + "_" + "ab"[s]; }
  std::string of_spins(const std::string& name, Spin s, Spin t) const {
    return closed_shell ? name : name + "_" + letters(s, t);
  }
  std::string of_pairs(const std::string& name, Spin s, Spin t) const {
    return closed_shell ? name : name + "_" + letters(s, s) + letters(t, t);
  }
  std::string of_operand(const std::string& name, Spin s, Spin t) const {
    return (!closed_shell && s == t ? "asym_" : "") + of_pairs(name, s, t);
  }
  /// A table of a closed shell has its name from equal or opposite spins.
  std::string of_table(const std::string& name, Spin s, Spin t) const {
    return "table_" + (closed_shell ? name + (s == t ? "_s" : "_o") : of_spins(name, s, t));
  }
};

/// A file, and what is made of its arrays.
struct Molecule {
  FileArrays arrays;
  Names names;
  std::vector<double> exchange;  ///< of a closed shell: the second half of vvvv_diag

  explicit Molecule(const std::string& file) : arrays(file), names{arrays.has("t2")} {}

  MomentInputs inputs() {
    MomentInputs in;
    in.closed_shell = names.closed_shell;
    const std::vector<std::pair<std::string, ArrayOfSpins*>> with_pairs = {{"oooo", &in.oooo}, {"ovoo", &in.ovoo},
                                                                           {"oovv", &in.oovv}, {"ovov", &in.ovov},
                                                                           {"ovvv", &in.ovvv}, {"kvvv", &in.kvvv}};
    for (const Spin s : both_spins) {
      if (names.closed_shell && s == beta) break;
      const auto shape = arrays.shape(names.of_spin("t1", s));
      in.holes[s] = shape[0];
      in.particles[s] = shape[1];
      in.fock[s] = arrays.first(names.of_spin("fock", s));
      in.t1[s] = arrays.first(names.of_spin("t1", s));
      in.vvvv_exchange[s] = arrays.first("vvvv_exchange_" + std::string(1, "ab"[s]));
      for (const Spin t : both_spins) {
        in.t2[s][t] = arrays.first(names.of_spins("t2", s, t));
        in.vvvv_coulomb[s][t] = arrays.first("vvvv_coulomb_" + letters(s, t));
        for (const auto& [name, blocks] : with_pairs) (*blocks)[s][t] = arrays.first(names.of_pairs(name, s, t));
      }
    }
    if (names.closed_shell) {
      in.vvvv_coulomb[alpha][beta] = arrays.first("vvvv_diag");
      in.vvvv_exchange[alpha] = arrays.first("vvvv_diag") + in.particles[alpha] * in.particles[alpha];
    }
    return in;
  }

  /// Calls `body` for the spins of all operands.
  template <typename Body>
  void for_operands(const Body& body) const {
    if (names.closed_shell) return body(alpha, beta);
    for (const Spin s : both_spins)
      for (const Spin t : both_spins) body(s, t);
  }

  void expect(const std::string& name, const double* found) {
    const std::vector<double>& expected = arrays.numbers(name);
    double largest = 0.0, difference = 0.0;
    for (std::size_t n = 0; n < expected.size(); ++n) {
      largest = std::max(largest, std::abs(expected[n]));
      difference = std::max(difference, std::isnan(found[n]) ? 1e300 : std::abs(found[n] - expected[n]));
    }
    EXPECT_GT(largest, 0.0) << name;
    EXPECT_LE(difference, tolerance * largest) << name;
    worst = std::max(worst, difference / largest);
  }
  double worst = 0.0;
};

class MomentsOf : public ::testing::TestWithParam<const char*> {};

/// Results begin with NaN, so that they must not be read.
TEST_P(MomentsOf, OperandsAreThoseOfTheReference) {
  Molecule molecule(GetParam());
  for (const int threads : {1, 2}) {
    MomentOperands operands(molecule.inputs(), threads);
    const auto check = [&](const std::string& name, auto make) {
      std::vector<double> found(molecule.arrays.numbers(name).size(), std::nan(""));
      make(found.data());
      molecule.expect(name, found.data());
    };
    for (const Spin s : both_spins) {
      if (molecule.names.closed_shell && s == beta) break;
      check(molecule.names.of_spin("hbar_fov", s), [&](double* f) { operands.hbar_fov(s, f); });
    }
    molecule.for_operands([&](Spin s, Spin t) {
      const auto name = [&](const char* of) { return molecule.names.of_operand(of, s, t); };
      check(name("right_ovvv"), [&](double* v) { operands.right_ovvv(s, t, v); });
      check(name("right_ovoo"), [&](double* o) { operands.right_ovoo(s, t, o); });
      check(name("left_ovvv"), [&](double* v) { operands.left_ovvv(s, t, v); });
      check(name("left_ovoo"), [&](double* o) { operands.left_ovoo(s, t, o); });
    });
  }
  RecordProperty("worst", std::to_string(molecule.worst));
}

TEST_P(MomentsOf, MayTakeThePlaceOfK) {
  Molecule molecule(GetParam());
  molecule.for_operands([&](Spin s, Spin t) {
    MomentInputs inputs = molecule.inputs();
    std::vector<double> v = molecule.arrays.numbers(molecule.names.of_pairs("kvvv", s, t));
    inputs.kvvv[s][t] = v.data();
    MomentOperands(inputs, 1).right_ovvv(s, t, v.data());
    molecule.expect(molecule.names.of_operand("right_ovvv", s, t), v.data());
  });
}

TEST_P(MomentsOf, TablesAreThoseOfTheReference) {
  Molecule molecule(GetParam());
  const MomentInputs inputs = molecule.inputs();
  const MomentOperands operands(inputs, 1);
  const DenominatorTables tables(operands);
  for (const Spin s : both_spins) {
    if (inputs.closed_shell && s == beta) break;
    molecule.expect("table_" + molecule.names.of_spin("o", s), tables.o(s).first);
    molecule.expect("table_" + molecule.names.of_spin("v", s), tables.v(s).first);
    for (const Spin t : both_spins) {
      const auto name = [&](const char* of) { return molecule.names.of_table(of, s, t); };
      molecule.expect(name("oo"), tables.oo(s, t).first);
      molecule.expect(name("vv"), tables.vv(s, t).first);
      molecule.expect(name("ov"), tables.ov(s, t).first);
      molecule.expect(name("oov"), tables.oov(s, t).first);
      molecule.expect(name("ovv"), tables.ovv(s, t).first);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Of, MomentsOf, ::testing::Values("h2o_631g_rhf.h5", "random_uhf.h5"), [](const auto& test) {
  const std::string name = test.param;
  return name.substr(0, name.find('.'));
});

}
}
