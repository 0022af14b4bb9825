#include "cxx/calculation/calculation.hpp"
#include "cxx/calculation/state.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>

#include "cxx/base/error.hpp"
#include "tests/support/arrays_of_molecules.hpp"
#include "tests/support/calculations.hpp"
#include "tests/support/copied_derivatives.hpp"
#include "tests/support/molecules.hpp"
#include "tests/support/refusals.hpp"
#include "tests/tce_tiles/nwchem_test_data.hpp"

namespace trifuse::testing {
namespace {

/// Whole calculations with a journal, whose fingerprints the calculation computes.
class CalculationWithAJournal : public ::testing::Test {
 protected:
  std::unique_ptr<TileSource> source = make_synthetic_source(closed_shell(4, 6));
  TemporaryFolder folder;
  CalculationOptions options = [this] {
    CalculationOptions chosen = options_for();
    chosen.journal = (folder.path() / "journal").string();
    return chosen;
  }();
};

TEST_F(CalculationWithAJournal, RefusesTheJournalOfOtherNumbersOrOptions) {
  const auto other = make_synthetic_source(other_amplitudes(closed_shell(4, 6)));
  const auto expected = numbers_of(calculate(*source, options));
  const CalculationResult again = calculate(*source, options);
  EXPECT_EQ(numbers_of(again), expected);
  EXPECT_EQ(again.tasks_from_journal, again.tasks);
  const auto refused = [&](const TileSource& right, const TileSource* left, auto change,
                           const std::string& why = "belongs to a calculation with other input") {
    CalculationOptions changed = options;
    change(changed);
    expect_failure<UsageError>([&] { calculate(right, changed, left); }, why);
  };
  const auto nothing = [](CalculationOptions&) {};
  refused(*other, nullptr, nothing);
  refused(*source, other.get(), nothing);
  refused(*source, nullptr, [](CalculationOptions& o) { o.omega2 = {0.1}; });
  refused(
      *source, nullptr, [](CalculationOptions& o) { o.tile_size = 2; }, "was started with tiles of 4 occupied and 16");
  refused(*source, nullptr, [](CalculationOptions& o) { o.formulation = SpinFormulation::spin_orbital; });
  CalculationOptions more_threads = options;
  more_threads.threads = 3;  // the bits do not depend on the number of threads
  EXPECT_EQ(numbers_of(calculate(*source, more_threads)), expected);
}

TEST_F(CalculationWithAJournal, ResumesWithAnotherKindOfWorkerAndReportsIt) {
  const auto expected = numbers_of(calculate(*source, options));
  options.executor = ExecutorKind::reference;
  const CalculationResult result = calculate(*source, options);
  EXPECT_EQ(numbers_of(result), expected);
  EXPECT_EQ(result.tasks_from_other_kind, result.tasks);
  options.executor = ExecutorKind::cpu;
  EXPECT_EQ(calculate(*source, options).tasks_from_other_kind, 0u);
}

TEST_F(CalculationWithAJournal, ResumesDerivativesToTheSameBits) {
  const ArraysOfMolecule arrays(closed_shell(4, 6), HeldArrays::Layout::c_order);
  options.derivatives = Derivatives::all;
  options.tile_size = 2;
  CalculationOptions alone = options;
  alone.journal.clear();
  const CalculationResult expected = calculate(arrays.source(), alone);
  std::atomic<bool> stop{false};
  const auto half = [&](const RunProgress& now) { stop = 2 * now.tasks_done >= now.tasks; };
  EXPECT_THROW(Calculation(arrays.source(), nullptr, options).run(&stop, half), Interrupted);
  const CalculationResult result = calculate(arrays.source(), options);
  EXPECT_GE(2 * result.tasks_from_journal, result.tasks);
  EXPECT_EQ(numbers_of(result), numbers_of(expected));
  EXPECT_EQ(arrays_of(*result.derivatives), arrays_of(*expected.derivatives));
  options.derivatives = Derivatives::none;
  EXPECT_EQ(calculate(arrays.source(), options).tasks_from_journal, result.tasks) << "energies need no sums";
}

TEST_F(CalculationWithAJournal, UsesTheTilesOfTheJournal) {
  // The plan of a run on GPUs.
  const auto begun = Calculation(*source, nullptr, options, {.plan_for = ExecutorKind::cuda}).run();
  const auto result = calculate(*source, options);
  EXPECT_EQ(result.tasks_from_journal, result.tasks);
  EXPECT_EQ(numbers_of(result), numbers_of(begun));
  fs::remove(options.journal);
  options.tile_size = 2;
  const auto small = calculate(*source, options);
  EXPECT_GT(small.tasks, begun.tasks);
  EXPECT_EQ(numbers_of(calculate(*source, options)), numbers_of(small));
  options.tile_size.reset();
  EXPECT_EQ(calculate(*source, options).tasks_from_journal, small.tasks);
}

}
}
