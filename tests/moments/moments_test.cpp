#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "cxx/contraction/description.hpp"
#include "cxx/contraction/reference.hpp"
#include "cxx/moments/denominator_tables.hpp"
#include "cxx/moments/moment_operands.hpp"
#include "cxx/moments/tensors.hpp"
#include "tests/moments/molecule.hpp"

/// Operands, compared with those of another program: see tests/data/moments/README.md.
namespace trifuse::moments {
namespace {

class MomentsOf : public ::testing::TestWithParam<const char*> {};

/// Compares all operands. Results begin with NaN, because they must not be read.
void expect_operands(Molecule& molecule, MomentOperands operands) {
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

TEST_P(MomentsOf, OperandsAreThoseOfTheReference) {
  Molecule molecule(GetParam());
  for (const MomentInputs& inputs : molecule.all_inputs()) {
    SCOPED_TRACE(inputs.antisymmetrised);
    expect_operands(molecule, MomentOperands(inputs, 2, contract_on_cores(1)));
  }
}

TEST_P(MomentsOf, OperandsOfOtherContractions) {
  Molecule molecule(GetParam());
  int calls = 0;
  const Contract by_loops = [&](const contraction::Contraction& contraction, double factor, const double* a,
                                const double* b, double* c) {
    ++calls;
    contraction::contract_by_loops(contraction, factor, a, b, 1.0, c);
  };
  expect_operands(molecule, MomentOperands(molecule.inputs(), 1, by_loops));
  EXPECT_GT(calls, 0);
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

TEST_P(MomentsOf, OverlapIsThatOfTheReference) {
  Molecule molecule(GetParam());
  const MomentInputs inputs = molecule.inputs();
  const MomentOperands operands(inputs, 1);
  const double expected = molecule.arrays.attribute("overlap D");
  EXPECT_NEAR(operands.overlap(), expected, 1e-12 * std::abs(expected));
  for (const auto& [s, t] : {std::pair(alpha, alpha), std::pair(alpha, beta), std::pair(beta, beta)}) {
    if (inputs.closed_shell && s == t) continue;
    const std::string name = molecule.names.of_spins("c2", s, t);
    std::vector<double> c2(molecule.arrays.numbers(name).size(), std::nan(""));
    operands.c2(s, t, c2.data());
    molecule.expect(name, c2.data());
  }
}

TEST_P(MomentsOf, TablesAreThoseOfTheReference) {
  Molecule molecule(GetParam());
  for (const MomentInputs& inputs : molecule.all_inputs()) {
    SCOPED_TRACE(inputs.antisymmetrised);
    const DenominatorTables tables(MomentOperands(inputs, 1));
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
}

INSTANTIATE_TEST_SUITE_P(Of, MomentsOf, ::testing::Values("h2o_631g_rhf.h5", "random_uhf.h5"), [](const auto& test) {
  const std::string name = test.param;
  return name.substr(0, name.find('.'));
});

}
}
