#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <vector>

#include "cxx/cpu/cpu_executor.hpp"
#include "cxx/cpu/reference_executor.hpp"
#include "tests/support/problems.hpp"

/// Sides with integrals of their own, which have no symmetry in the contracted index, as the moments of CCSD.
namespace trifuse {
namespace {

using namespace trifuse::testing;

class OperandSetsFor : public ::testing::TestWithParam<NamedMolecule> {};

TEST_P(OperandSetsFor, HaveTheEnergiesOfTheReference) {
  for (const SpinFormulation formulation : GetParam().formulations()) {
    for (const bool two_amplitudes : {false, true}) {
      SCOPED_TRACE(to_string(formulation) + (two_amplitudes ? ", two amplitudes" : ""));
      OwnedProblem owned(GetParam().molecule, formulation, two_amplitudes);
      owned.change_left_integrals();
      owned.problem.quotients = {0.0, 0.1};
      const Plan plan = make_plan(owned.right->tiles().retiled(3, 4), formulation);
      const auto found = task_numbers(*make_cpu_executor(owned.problem, plan.tiles, {2, 3}), plan, 2);
      const auto reference = task_numbers(*make_reference_executor(owned.problem, plan.tiles), plan, 2);
      EXPECT_LT(relative_difference(found, reference), 1e-12);
    }
  }
}

/// D is linear in the integrals. So sum D_V D_R / Delta of sides with integrals V and R is a quarter of the difference
/// of two energies with one operand set, whose integrals are V + R and V - R.
TEST_P(OperandSetsFor, HaveTheEnergiesOfTwoRunsWithOneSet) {
  for (const SpinFormulation formulation : GetParam().formulations()) {
    SCOPED_TRACE(to_string(formulation));
    OwnedProblem owned(GetParam().molecule, formulation);
    const Plan plan = make_plan(owned.right->tiles().retiled(3, 4), formulation);
    const auto bracket_t = [&](const Problem& problem) {
      const auto executor = make_cpu_executor(problem, plan.tiles);
      const auto worker = executor->make_worker();
      double sum = 0.0;
      std::vector<TaskEnergy> energies(1);
      for (const Task& task : plan.tasks) {
        worker->execute({&task, 1}, energies);
        sum += energies[0].same.e_bracket_t + energies[0].mixed.e_bracket_t;
      }
      return sum;
    };
    const auto with_sum = [&](double sign) {
      const MemorySource source = with_changed_integrals(*owned.right, [&](const auto& orbitals, double value) {
        return value + sign * factor_without_symmetry(orbitals, value);
      });
      Problem problem = owned.problem;
      problem.right = &source;
      return bracket_t(problem);
    };
    const double expected = 0.25 * (with_sum(+1.0) - with_sum(-1.0));
    owned.change_left_integrals();
    EXPECT_NEAR(bracket_t(owned.problem), expected, 1e-12 * std::abs(expected));
  }
}

INSTANTIATE_TEST_SUITE_P(Every, OperandSetsFor, ::testing::ValuesIn(molecules_of_every_kind()), molecule_name);

}
}
