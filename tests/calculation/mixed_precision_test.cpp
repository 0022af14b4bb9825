#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "cxx/base/error.hpp"
#include "cxx/calculation/calculation.hpp"
#include "cxx/calculation/fingerprint.hpp"
#include "cxx/calculation/state.hpp"
#include "cxx/parallel/journal.hpp"
#include "tests/support/calculations.hpp"
#include "tests/support/molecules.hpp"
#include "tests/support/refusals.hpp"
#include "tests/support/thread_communicator.hpp"
#include "tests/tce_tiles/nwchem_test_data.hpp"

namespace trifuse::testing {
namespace {

/// Options of a run in mixed precision, emulated on CPU cores.
CalculationOptions mixed_options(std::optional<SpinFormulation> formulation = {}, std::int64_t tile_size = 2) {
  CalculationOptions options = options_for(formulation, tile_size);
  options.precision = Precision::mixed;
  options.omega2 = {0.0, 0.1};
  return options;
}

/// The energies and error bars, for a comparison of bits.
std::vector<double> all_numbers_of(const CalculationResult& result) {
  std::vector<double> numbers = numbers_of(result);
  for (const TriplesEnergy& energy : result.energies) {
    for (const Energies& more : {energy.uncorrected, energy.error_bar}) {
      for (const double number : more.values()) numbers.push_back(number);
    }
  }
  return numbers;
}

/// Expects that the energies are those in double precision within the limits of mixed precision.
void expect_accurate(const CalculationResult& mixed, const CalculationResult& exact) {
  for (std::size_t w = 0; w < exact.energies.size(); ++w) {
    for (std::size_t n = 0; n < Energies::count; ++n) {
      const double energy = exact.energies[w].total.values()[n];
      EXPECT_NEAR(mixed.energies[w].total.values()[n], energy, std::max(1e-9, 2e-8 * std::abs(energy)));
      EXPECT_NEAR(mixed.energies[w].uncorrected.values()[n], energy, 6e-7 * std::abs(energy));
    }
  }
}

class MixedPrecision : public ::testing::TestWithParam<NamedMolecule> {};
INSTANTIATE_TEST_SUITE_P(Molecules, MixedPrecision, ::testing::ValuesIn(molecules_of_every_kind()), molecule_name);

TEST_P(MixedPrecision, HasTheEnergiesOfDoublePrecisionWithinItsLimits) {
  const auto source = make_synthetic_source(GetParam().molecule);
  const auto left = make_synthetic_source(other_amplitudes(GetParam().molecule));
  for (const SpinFormulation formulation : GetParam().formulations()) {
    CalculationOptions options = mixed_options(formulation);
    const auto mixed = calculate(*source, options), two_sided = calculate(*source, options, left.get());
    options.precision = Precision::fp64;
    const auto exact = calculate(*source, options);
    expect_accurate(mixed, exact);
    EXPECT_EQ(exact.energies.front().error_bar.e_paren_t, 0.0);
    EXPECT_EQ(exact.energies.front().uncorrected.e_paren_t, exact.energies.front().total.e_paren_t);
    EXPECT_EQ(exact.tasks_in_double, exact.tasks);
    EXPECT_TRUE(exact.strata.empty());
    EXPECT_TRUE(mixed.warnings.empty());
    const auto exact_two_sided = calculate(*source, options, left.get());
    for (std::size_t w = 0; w < exact_two_sided.energies.size(); ++w) {
      // Different amplitudes cancel in the sum, so the error is compared with the one-sided energy.
      EXPECT_NEAR(two_sided.energies[w].total.e_paren_t, exact_two_sided.energies[w].total.e_paren_t,
                  std::max(1e-9, 2e-8 * std::abs(exact.energies[w].total.e_paren_t)));
    }
  }
}

class AMixedCalculation : public ::testing::Test {
 protected:
  std::unique_ptr<TileSource> source = make_synthetic_source(closed_shell(5, 8));
  TemporaryFolder folder;
};

TEST_F(AMixedCalculation, SaysWhatWasComputedInDoublePrecision) {
  const auto result = calculate(*source, mixed_options());
  std::size_t tasks = 0, in_double = 0;
  for (const StratumReport& stratum : result.strata) {
    EXPECT_FALSE(stratum.spoiled);
    tasks += stratum.tasks;
    in_double += stratum.tasks_in_double;
  }
  EXPECT_EQ(tasks, result.tasks);
  EXPECT_EQ(in_double, result.tasks_in_double);
  EXPECT_GT(result.tasks_in_double, 0u);
  EXPECT_LT(result.tasks_in_double, result.tasks / 2);
  EXPECT_GT(result.energies.front().error_bar.e_paren_t, 0.0);
  EXPECT_NE(result.energies.front().total.e_paren_t, result.energies.front().uncorrected.e_paren_t);
}

TEST_F(AMixedCalculation, ReachesTheTargetError) {
  CalculationOptions options = mixed_options();
  const double first = calculate(*source, options).energies.front().error_bar.e_paren_t;
  options.target_error = first / 20.0;
  const auto better = calculate(*source, options);
  for (const TriplesEnergy& energy : better.energies) EXPECT_LE(energy.error_bar.e_paren_t, *options.target_error);
  options.target_error = 1e-25;
  const auto best = calculate(*source, options);
  EXPECT_EQ(best.tasks_in_double, best.tasks);
  options.precision = Precision::fp64;
  options.target_error.reset();
  EXPECT_EQ(numbers_of(best), numbers_of(calculate(*source, options)));
}

TEST_F(AMixedCalculation, HasTheSameBitsOnAnyNumberOfThreadsAndRanks) {
  CalculationOptions options = mixed_options();
  options.target_error = 1e-13;
  const auto expected = all_numbers_of(calculate(*source, options));
  options.threads = 3;
  EXPECT_EQ(all_numbers_of(calculate(*source, options)), expected);
  options.threads = 1;
  for (const bool arrays : {false, true}) {
    for (const int size : {1, 3}) {
      std::vector<std::vector<double>> found(static_cast<std::size_t>(size));
      const auto failures = failures_of_ranks(
          size,
          [&](Communicator& communicator) {
            Calculation calculation(*source, nullptr, options);
            calculation.join(communicator, RankAssignment{});
            found[static_cast<std::size_t>(communicator.rank())] = all_numbers_of(calculation.run());
          },
          arrays);
      EXPECT_EQ(failures, std::vector<std::string>(static_cast<std::size_t>(size)));
      for (const auto& numbers : found) EXPECT_EQ(numbers, expected) << size << " ranks";
    }
  }
}

/// CPU cores that help GPUs compute in double precision, and their tasks need no correction.
TEST_F(AMixedCalculation, HasNoErrorIfCoresComputeInsteadOfGpus) {
  CalculationOptions options = mixed_options();
  const auto result = Calculation(*source, nullptr, options, {.plan_for = ExecutorKind::cuda}).run();
  EXPECT_EQ(result.tasks_in_double, result.tasks);
  EXPECT_EQ(result.energies.front().error_bar.e_paren_t, 0.0);
  options.precision = Precision::fp64;
  EXPECT_EQ(numbers_of(result),
            numbers_of(Calculation(*source, nullptr, options, {.plan_for = ExecutorKind::cuda}).run()));
}

TEST_F(AMixedCalculation, ResumesFromItsJournal) {
  CalculationOptions options = mixed_options();
  const auto expected = all_numbers_of(calculate(*source, options));
  options.journal = (folder.path() / "journal").string();
  EXPECT_EQ(all_numbers_of(calculate(*source, options)), expected);
  const auto again = calculate(*source, options);
  EXPECT_EQ(all_numbers_of(again), expected);
  EXPECT_EQ(again.ranks.front().tasks, 0u);
  EXPECT_EQ(again.tasks_from_journal, again.tasks);
  // A killed run leaves the first records.
  const auto bytes = fs::file_size(options.journal);
  for (const auto part : {bytes / 3, bytes - 200}) {
    fs::resize_file(options.journal, part);
    const auto resumed = calculate(*source, options);
    EXPECT_EQ(all_numbers_of(resumed), expected);
    EXPECT_GT(resumed.ranks.front().tasks, 0u);
    EXPECT_LT(resumed.ranks.front().tasks, resumed.tasks + resumed.tasks_in_double);
  }
  // A larger sample is added to the journal of a smaller one.
  options.target_error = 1e-25;
  const auto best = calculate(*source, options);
  EXPECT_EQ(best.ranks.front().tasks, best.tasks - again.tasks_in_double);
  options.precision = Precision::fp64;
  options.target_error.reset();
  expect_failure<UsageError>([&] { calculate(*source, options); }, "belongs to a calculation with other input");
}

/// The journal has tasks in mixed precision that a failing device would compute.
TEST_F(AMixedCalculation, ComputesASpoiledClassInDoublePrecisionAndWarns) {
  CalculationOptions options = mixed_options(SpinFormulation::spin_orbital);
  CalculationOptions in_double = options;
  in_double.precision = Precision::fp64;
  const auto exact = calculate(*source, in_double);
  options.journal = (folder.path() / "journal").string();
  const Calculation calculation(*source, nullptr, options);
  {
    const Plan& plan = calculation.plan();
    Journal journal(options.journal, {fingerprint(calculation.problem(), nullptr, Precision::mixed),
                                      {{2, 2}, false},
                                      2 * plan.tasks.size(),
                                      options.omega2.size()});
    for (std::size_t task = 0; task < plan.tasks.size(); ++task) {
      if (plan.tasks[task].spin_case != SpinCase::aaa) continue;
      journal.append(task, WorkerKind::mixed_cpu, std::vector<TaskEnergy>(options.omega2.size()));
    }
  }
  std::vector<std::string> warned;
  const auto result = calculation.run(nullptr, {}, [&](const std::string& warning) { warned.push_back(warning); });
  expect_accurate(result, exact);
  ASSERT_FALSE(result.warnings.empty());
  EXPECT_EQ(warned, result.warnings);
  for (const std::string& warning : warned) EXPECT_NE(warning.find("spin case aaa"), std::string::npos) << warning;
  for (const StratumReport& stratum : result.strata) {
    EXPECT_EQ(stratum.spoiled, stratum.spin_case == SpinCase::aaa);
    if (stratum.spoiled) {
      EXPECT_EQ(stratum.tasks_in_double, stratum.tasks);
    }
  }
}

TEST_F(AMixedCalculation, RefusesImpossibleOptions) {
  const auto refused = [&](auto change, const std::string& part) {
    CalculationOptions options = mixed_options();
    change(options);
    expect_failure<UsageError>([&] { check_options(options); }, part);
  };
  refused([](CalculationOptions& o) { o.executor = ExecutorKind::reference; }, "computes in double precision only");
  for (const double wrong : {0.0, -1e-6, 1.5, std::nan("")}) {
    refused([&](CalculationOptions& o) { o.target_error = wrong; }, "target_error is \"");
  }
  refused(
      [](CalculationOptions& o) {
        o.precision = Precision::fp64;
        o.target_error = 1e-6;
      },
      "A target error is for mixed precision");
}

}
}
