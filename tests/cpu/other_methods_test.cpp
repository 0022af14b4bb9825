#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "cxx/cpu/cpu_executor.hpp"
#include "cxx/cpu/reference_executor.hpp"
#include "tests/support/other_methods.hpp"
#include "tests/support/problems.hpp"

/// Methods that consist of a description only. The CPU executor and the reference evaluation read the same description.
namespace trifuse {
namespace {

using namespace trifuse::testing;

class OtherMethodsFor : public ::testing::TestWithParam<NamedMolecule> {};

TEST_P(OtherMethodsFor, HaveTheEnergiesOfTheReference) {
  for (const SpinFormulation formulation : GetParam().formulations()) {
    for (const bool two_sided : {false, true}) {
      OwnedProblem owned(GetParam().molecule, formulation, two_sided);
      owned.problem.quotients = {0.0, 0.1};
      const Plan plan = make_plan(owned.right->tiles().retiled(3, 4), formulation);
      const auto energies_on_cpu = [&] {
        return task_numbers(*make_cpu_executor(owned.problem, plan.tiles, {2, 3}), plan, 2);
      };
      const std::vector<double> usual = energies_on_cpu();
      for (const Method& method : other_methods) {
        SCOPED_TRACE(method.name() + std::string(", ") + to_string(formulation) + (two_sided ? ", two sides" : ""));
        owned.problem.method = method;
        const std::vector<double> found = energies_on_cpu();
        const auto reference = make_reference_executor(owned.problem, plan.tiles);
        EXPECT_LT(relative_difference(found, task_numbers(*reference, plan, 2)), 1e-12);
        EXPECT_GT(relative_difference(found, usual), 1e-6) << "the method should make a difference";
      }
    }
  }
}

/// E(T) - E[T] is linear in the weight of the only set, and E[T] does not depend on it.
TEST_P(OtherMethodsFor, AreLinearInTheWeight) {
  for (const SpinFormulation formulation : GetParam().formulations()) {
    SCOPED_TRACE(to_string(formulation));
    OwnedProblem owned(GetParam().molecule, formulation);
    owned.problem.quotients = {0.0};
    const Plan plan = make_plan(owned.right->tiles().retiled(3, 4), formulation);
    const auto sum_on_cpu = [&](const Method& method) {
      owned.problem.method = method;
      const auto executor = make_cpu_executor(owned.problem, plan.tiles);
      const auto worker = executor->make_worker();
      TaskEnergy sum;
      std::vector<TaskEnergy> energies(1);
      for (const Task& task : plan.tasks) {
        worker->execute({&task, 1}, energies);
        sum += energies[0];
      }
      return sum;
    };
    const TaskEnergy whole = sum_on_cpu(ccsd_t), half = sum_on_cpu(half_disconnected);
    EXPECT_EQ(half.mixed.e_bracket_t, whole.mixed.e_bracket_t);
    EXPECT_EQ(half.same.e_bracket_t, whole.same.e_bracket_t);
    const auto of_singles = [](const TaskEnergy& x) {
      return x.same.e_paren_t + x.mixed.e_paren_t - x.same.e_bracket_t - x.mixed.e_bracket_t;
    };
    const double of_whole = of_singles(whole), of_half = of_singles(half);
    EXPECT_NE(of_whole, 0.0);
    EXPECT_NEAR(of_half, 0.5 * of_whole, 1e-12 * std::abs(whole.same.e_paren_t + whole.mixed.e_paren_t));
  }
}

INSTANTIATE_TEST_SUITE_P(Every, OtherMethodsFor, ::testing::ValuesIn(molecules_of_every_kind()), molecule_name);

}
}
