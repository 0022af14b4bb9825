#pragma once

#include <memory>
#include <span>
#include <vector>

#include "cxx/plan/executor.hpp"
#include "cxx/plan/plan.hpp"
#include "cxx/plan/task_results.hpp"
#include "cxx/triples/problem.hpp"
#include "tests/support/calculations.hpp"
#include "tests/support/changed_integrals.hpp"
#include "tests/support/molecules.hpp"
#include "tests/support/other_methods.hpp"

/// Problems of made-up molecules, for tests that compare executors task by task.
namespace trifuse::testing {

/// A problem with the sources that it points to.
struct OwnedProblem {
  std::unique_ptr<TileSource> right, left, left_integrals, second_amplitudes, second_integrals;
  Problem problem;

  OwnedProblem(const SyntheticMolecule& molecule, SpinFormulation formulation, bool two_sided = false)
      : right(make_synthetic_source(molecule)),
        left(two_sided ? make_synthetic_source(other_amplitudes(molecule)) : nullptr) {
    problem.right = right.get();
    problem.left = left.get();
    problem.formulation = formulation;
  }
  /// Gives the left side integrals of its own, without the symmetry of bare integrals.
  void change_left_integrals() {
    left_integrals = std::make_unique<MemorySource>(with_changed_integrals(*right, factor_without_symmetry));
    problem.left_integrals = left_integrals.get();
  }
  /// Gives the problem a second left side, which has everything of its own. Call change_left_integrals() before.
  void add_second_left(const SyntheticMolecule& molecule) {
    second_amplitudes = make_synthetic_source(other_amplitudes(other_amplitudes(other_amplitudes(molecule))));
    second_integrals = std::make_unique<MemorySource>(with_changed_integrals(*left_integrals, factor_without_symmetry));
    problem.second_left = {second_amplitudes.get(), second_integrals.get(), weighted_with_fock};
  }
};

/// Returns the energies of a plan's tasks, each executed alone.
inline std::vector<double> task_numbers(const Executor& executor, const Plan& plan, std::size_t omega2_values) {
  const auto worker = executor.make_worker();
  std::vector<double> numbers;
  std::vector<TaskEnergy> energies(omega2_values);
  for (const Task& task : plan.tasks) {
    worker->execute({&task, 1}, energies);
    const auto more = numbers_of(energies);
    numbers.insert(numbers.end(), more.begin(), more.end());
  }
  return numbers;
}

}
