#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "cxx/calculation/calculation.hpp"
#include "cxx/calculation/memory_plan.hpp"
#include "tests/support/calculations.hpp"
#include "tests/support/factored_source.hpp"
#include "tests/support/thread_communicator.hpp"
#include "tests/tce_tiles/nwchem_test_data.hpp"

/// Whole calculations of inputs with factors.
namespace trifuse {
namespace {

using namespace trifuse::testing;

struct FactoredMolecule {
  NamedMolecule named;
  SpinFormulation formulation;
  bool two_sided;
};

class CalculationWithFactors : public ::testing::TestWithParam<FactoredMolecule> {
 protected:
  CalculationOptions options() const {
    CalculationOptions chosen = options_for(GetParam().formulation, 4);
    chosen.omega2 = {0.0, 0.1};
    return chosen;
  }
  const TileSource* left() const { return problem.left.get(); }

  FactoredProblem problem{GetParam().named.molecule, GetParam().formulation, GetParam().two_sided};
  std::vector<double> expected = numbers_of(calculate(problem.with_factors, options(), left()));
};

INSTANTIATE_TEST_SUITE_P(
    Molecules, CalculationWithFactors,
    ::testing::Values(
        FactoredMolecule{{"RHF spin-adapted", closed_shell(5, 9, 2)}, SpinFormulation::spin_adapted, false},
        FactoredMolecule{{"RHF spin-adapted two-sided", closed_shell(5, 9)}, SpinFormulation::spin_adapted, true},
        FactoredMolecule{{"RHF spin-orbital", closed_shell(4, 7)}, SpinFormulation::spin_orbital, false},
        FactoredMolecule{{"UHF", open_shell(Reference::uhf, {4, 3, 5, 6}, 2)}, SpinFormulation::spin_orbital, false},
        FactoredMolecule{
            {"UHF two-sided", open_shell(Reference::uhf, {4, 3, 5, 6})}, SpinFormulation::spin_orbital, true}),
    [](const auto& test) { return as_test_name(test.param.named.name); });

TEST_P(CalculationWithFactors, HasTheEnergiesOfIntegralsOnEveryExecutor) {
  CalculationOptions chosen = options();
  EXPECT_LT(relative_difference(expected, numbers_of(calculate(problem.with_integrals, chosen, left()))), 1e-12);
  chosen.executor = ExecutorKind::reference;
  EXPECT_LT(relative_difference(expected, numbers_of(calculate(problem.with_factors, chosen, left()))), 1e-12);
}

TEST_P(CalculationWithFactors, HasTheSameBitsForAnyMemoryAndNumberOfThreads) {
  CalculationOptions chosen = options();
  const Calculation alone(problem.with_factors, left(), chosen);
  EXPECT_GT(alone.memory().made(), 0);
  EXPECT_EQ(Calculation(problem.with_integrals, left(), chosen).memory().made(), 0);
  EXPECT_EQ(Calculation(problem.with_integrals, left(), chosen).memory().operands, alone.memory().made())
      << "all panels are made";
  for (const int threads : {1, 2, 3}) {
    chosen.threads = threads;
    for (const std::int64_t made : {std::int64_t{0}, alone.memory().made() / 5, alone.memory().made()}) {
      chosen.memory = threads * alone.memory().scratch() + made;
      const Calculation calculation(problem.with_factors, left(), chosen);
      EXPECT_EQ(calculation.memory().threads, threads);
      EXPECT_EQ(calculation.memory().made(), made);
      EXPECT_EQ(numbers_of(calculation.run()), expected);
    }
  }
}

TEST_P(CalculationWithFactors, HasTheSameBitsOnAnyNumberOfRanks) {
  for (const int ranks : {1, 2, 3}) {
    for (const bool arrays : {false, true}) {
      for (const double memory : {0.0, 0.6}) {
        const auto failures = failures_of_ranks(
            ranks,
            [&](Communicator& communicator) {
              Calculation calculation(problem.with_factors, left(), options());
              RankAssignment assignment;
              // Hardly any memory beyond the rank's part of the operands and what it needs to compute.
              assignment.memory = memory * static_cast<double>(calculation.memory().operands) +
                                  3.0 * static_cast<double>(calculation.memory().working());
              if (memory == 0.0) assignment.memory = 0.0;
              calculation.join(communicator, assignment);
              EXPECT_EQ(numbers_of(calculation.run()), expected);
            },
            arrays);
        EXPECT_EQ(failures, std::vector<std::string>(static_cast<std::size_t>(ranks)));
      }
    }
  }
}

TEST_P(CalculationWithFactors, ContinuesItsJournal) {
  const TemporaryFolder folder;
  CalculationOptions chosen = options();
  chosen.journal = (folder.path() / "journal").string();
  const CalculationResult first = calculate(problem.with_factors, chosen, left());
  EXPECT_EQ(first.tasks_from_journal, 0u);
  const CalculationResult again = calculate(problem.with_factors, chosen, left());
  EXPECT_EQ(again.tasks_from_journal, again.tasks);
  EXPECT_EQ(numbers_of(first), expected);
  EXPECT_EQ(numbers_of(again), expected);
}

}
}
