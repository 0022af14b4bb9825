#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "cxx/cpu/cpu_executor.hpp"
#include "cxx/cpu/reference_executor.hpp"
#include "cxx/plan/plan.hpp"
#include "cxx/triples/contraction_list.hpp"
#include "tests/support/calculations.hpp"
#include "tests/tce_tiles/dump_test_data.hpp"

/// Molecules in which classes of orbitals lack irreps, so that products, singles or whole tasks have nothing to sum.
namespace trifuse {
namespace {

using namespace trifuse::testing;

class MissingIrreps : public ::testing::Test {
 protected:
  /// Executes every task twice, so that the first task, too, finds numbers of other tasks in the scratch memory.
  static std::vector<double> energies(const Executor& executor, const Plan& plan) {
    std::vector<TaskEnergy> energies(plan.tasks.size());
    const auto worker = executor.make_worker();
    for (int round = 0; round < 2; ++round) {
      for (std::size_t n = 0; n < plan.tasks.size(); ++n) {
        worker->execute({&plan.tasks[n], 1}, std::span(energies).subspan(n, 1));
      }
    }
    return numbers_of(energies);
  }
  static bool lacks_products(const Plan& plan) {
    return std::any_of(plan.tasks.begin(), plan.tasks.end(), [&](const Task& task) {
      ContractionList contractions;
      list_contractions(plan.tiles, plan.formulation, task, contractions);
      return contractions.products.empty();
    });
  }
  /// Compares the executors for a random molecule with these irreps. Returns true if a task has no product.
  static bool expect_agreement(const OrbitalSet& orbitals, SpinFormulation formulation, bool two_sided) {
    const MemorySource right = memory_source(DenseMolecule(orbitals, 1), 2, 2);
    const MemorySource left = memory_source(DenseMolecule(orbitals, 2), 2, 2);
    Problem problem;
    problem.right = &right;
    problem.left = two_sided ? &left : nullptr;
    problem.formulation = formulation;
    const Plan plan = make_plan(right.tiles(), formulation);
    const auto expected = energies(*make_reference_executor(problem, plan.tiles), plan);
    const auto found = energies(*make_cpu_executor(problem, plan.tiles), plan);
    if (std::all_of(expected.begin(), expected.end(), [](double x) { return x == 0.0; })) {
      EXPECT_EQ(found, expected);
    } else {
      EXPECT_LT(relative_difference(found, expected), 1e-12);
    }
    return lacks_products(plan);
  }
};

TEST_F(MissingIrreps, MayLeaveATaskWithoutAnyProduct) {
  // i, j, k have the irreps 1, 2 and (beta) 0; a, b, c have the irreps 4, 5 and (beta) 2. No contracted orbital has an
  // allowed irrep. Tasks with two beta electrons have products.
  const OrbitalSet orbitals = {Reference::uhf, {{{1, 2, 4}, {0, 0}, {4, 5, 5}, {2, 2}}}};
  EXPECT_TRUE(expect_agreement(orbitals, SpinFormulation::spin_orbital, false));
  EXPECT_TRUE(expect_agreement(orbitals, SpinFormulation::spin_orbital, true));
}

TEST_F(MissingIrreps, AreHandledInMoleculesOfAnySymmetry) {
  std::mt19937 random(3);
  const auto irreps = [&](std::size_t most) {
    std::vector<int> list(random() % (most + 1));
    for (int& x : list) x = static_cast<int>(random() % 8);
    std::sort(list.begin(), list.end());
    return list;
  };
  int without_products = 0;
  for (int round = 0; round < 60; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    const bool two_sided = round % 2 == 1;
    OrbitalSet open = {Reference::uhf, {irreps(5), irreps(4), irreps(5), irreps(4)}};
    without_products += expect_agreement(open, SpinFormulation::spin_orbital, two_sided) ? 1 : 0;
    const OrbitalSet closed = closed_shell(irreps(4), irreps(4));
    expect_agreement(closed, SpinFormulation::spin_orbital, two_sided);
    expect_agreement(closed, SpinFormulation::spin_adapted, two_sided);
  }
  EXPECT_GT(without_products, 0);
}

}
}
