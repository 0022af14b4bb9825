#pragma once

#include <gtest/gtest.h>

#include <string>

#include "cxx/plan/plan.hpp"
#include "tests/support/molecules.hpp"
#include "tests/support/problems.hpp"

/// Small problems of every kind, in small tiles, for tests of panels.
namespace trifuse::testing {

/// Calls `check(problem, plan)` for both spin formulations, one-sided and two-sided, with and without the Fock matrix
/// in the singles, with and without left integrals, with a second left side. Tiles have at most 3 occupied and 4
/// virtual orbitals.
template <typename Check>
void for_each_small_problem(Check check) {
  struct Case {
    SyntheticMolecule molecule;
    SpinFormulation formulation;
    bool two_sided = false, fock_in_singles = false, left_integrals = false, second_left = false;
  };
  const Case cases[] = {{closed_shell(6, 11), SpinFormulation::spin_adapted},
                        {closed_shell(6, 11), SpinFormulation::spin_orbital},
                        {closed_shell(6, 11), SpinFormulation::spin_adapted, true},
                        {open_shell(Reference::uhf, {5, 4, 8, 9}, 2), SpinFormulation::spin_orbital, true},
                        {open_shell(Reference::rohf, {5, 4, 8, 9}, 1), SpinFormulation::spin_orbital, false, true},
                        {closed_shell(6, 11), SpinFormulation::spin_adapted, false, false, true},
                        {open_shell(Reference::uhf, {5, 4, 8, 9}, 2), SpinFormulation::spin_orbital, true, false, true},
                        {closed_shell(6, 11), SpinFormulation::spin_adapted, true, true, true, true}};
  for (const Case& each : cases) {
    OwnedProblem owned(each.molecule, each.formulation, each.two_sided);
    if (each.fock_in_singles) owned.problem.method = ccsd_t_with_fock;
    if (each.left_integrals) owned.change_left_integrals();
    if (each.second_left) owned.add_second_left(each.molecule);
    SCOPED_TRACE(to_string(each.formulation) + (each.two_sided ? ", two-sided" : "") +
                 (each.fock_in_singles ? ", Fock in singles" : "") + (each.left_integrals ? ", left integrals" : "") +
                 (each.second_left ? ", second left side" : ""));
    const Plan plan = make_plan(owned.right->tiles().retiled(3, 4), each.formulation);
    ASSERT_FALSE(plan.tasks.empty());
    check(owned.problem, plan);
  }
}

}
