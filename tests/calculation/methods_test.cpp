#include "cxx/calculation/methods.hpp"
#include "cxx/calculation/memory_plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cxx/base/error.hpp"
#include "cxx/calculation/fingerprint.hpp"
#include "tce_tiles/sources/open_source.hpp"
#include "tce_tiles/tiles/wrapped_source.hpp"
#include "tests/support/calculations.hpp"
#include "tests/support/refusals.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/thread_communicator.hpp"

/// Calculations with methods that have moments of CCSD.
namespace trifuse::testing {
namespace {

/// The amplitudes of a source in the place of Lambda amplitudes, which are as good for a comparison of two runs.
class AsLambda final : public WrappedSource {
 public:
  explicit AsLambda(const TileSource& source) : WrappedSource(source), info_(source.info()) {
    info_.amplitudes = AmplitudeKind::lambda;
  }
  const SourceInfo& info() const override { return info_; }

 private:
  void read(TensorKind tensor, const std::array<int, 4>& tiles, std::span<double> block) const override {
    source().read_block(tensor, tiles, block);
  }
  SourceInfo info_;
};

class CalculationWithMoments : public ::testing::Test {
 protected:
  std::unique_ptr<TileSource> source = [] {
    NwchemLocation location;
    location.prefix = TRIFUSE_TEST_DATA "/dumps/hf_160_631g_rhf_moments.h5";
    return open_source(location);
  }();
  AsLambda lambda{*source};
  CalculationOptions options_of(std::vector<TriplesMethod> methods, int threads = 1) const {
    CalculationOptions options = options_for({}, 4);
    options.methods = std::move(methods);
    options.threads = threads;
    return options;
  }
};

TEST_F(CalculationWithMoments, HasAFingerprintBeforeOperandsAreMade) {
  // So it cannot depend on what makes them.
  const Calculation ct(*source, nullptr, options_of({TriplesMethod::ct}));
  const Calculation cr(*source, nullptr, options_of({TriplesMethod::ct, TriplesMethod::cr_t}));
  const Calculation two_t(*source, &lambda, options_of({TriplesMethod::two_t}));
  const Calculation plain(*source, nullptr, options_of({TriplesMethod::t}));
  const Calculation of_two_lefts(*source, &lambda, options_of({TriplesMethod::ct, TriplesMethod::two_t}));
  const Calculation with_t(*source, nullptr, options_of({TriplesMethod::t, TriplesMethod::ct}));
  std::vector<Fingerprint> all;
  for (const auto* each : {&ct, &cr, &two_t, &plain, &of_two_lefts, &with_t})
    all.push_back(fingerprint(each->problem()));
  const Fingerprint before = all.front();
  ct.run();
  EXPECT_EQ(fingerprint(ct.problem()), before);
  std::sort(all.begin(), all.end());
  EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end());
}

TEST_F(CalculationWithMoments, ResumesWithAnotherNumberOfThreads) {
  const TemporaryFolder folder;
  CalculationOptions options = options_of({TriplesMethod::ct});
  options.journal = (folder.path() / "journal").string();
  const auto expected = numbers_of(calculate(*source, options));
  options.threads = 2;
  const CalculationResult again = calculate(*source, options);
  EXPECT_EQ(again.tasks_from_journal, again.tasks);
  EXPECT_EQ(numbers_of(again), expected);
  options.methods = {TriplesMethod::t};
  expect_failure<UsageError>([&] { calculate(*source, options); }, "belongs to a calculation with other input");
}

TEST_F(CalculationWithMoments, GivesTheSameEnergiesOnSeveralRanks) {
  const std::vector<std::pair<CalculationOptions, const TileSource*>> cases = {
      {options_of({TriplesMethod::ct, TriplesMethod::cr_t}), nullptr},
      {options_of({TriplesMethod::two_t, TriplesMethod::cr_cc23}), &lambda}};
  for (const auto& [options, left] : cases) {
    const std::vector<double> alone = numbers_of(calculate(*source, options, left));
    for (const bool arrays : {false, true}) {
      std::vector<std::vector<double>> found(2);
      const auto failures = failures_of_ranks(
          2,
          [&, &options = options, left = left](Communicator& communicator) {
            Calculation calculation(*source, left, options);
            calculation.join(communicator, {});
            found[static_cast<std::size_t>(communicator.rank())] = numbers_of(calculation.run());
          },
          arrays);
      EXPECT_EQ(failures, std::vector<std::string>(2));
      EXPECT_EQ(found[0], found[1]);
      ASSERT_EQ(found[0].size(), alone.size());
      for (std::size_t n = 0; n < alone.size(); ++n) EXPECT_NEAR(found[0][n], alone[n], 1e-13);
    }
  }
}

/// Methods with different left sides share the right one.
TEST_F(CalculationWithMoments, HasTheEnergiesOfSeparateRuns) {
  using enum TriplesMethod;
  struct Case {
    std::vector<TriplesMethod> together;
    const TileSource* left;  ///< with `together`
    std::vector<std::pair<std::vector<TriplesMethod>, const TileSource*>> runs;
  };
  const Case cases[] = {{{ct, cr_t, two_t, cr_cc23}, &lambda, {{{ct, cr_t}, nullptr}, {{two_t, cr_cc23}, &lambda}}},
                        {{t, ct, cr_t}, nullptr, {{{t}, nullptr}, {{ct, cr_t}, nullptr}}}};
  for (const Case& each : cases) {
    for (const SpinFormulation formulation : {SpinFormulation::spin_adapted, SpinFormulation::spin_orbital}) {
      SCOPED_TRACE(to_string(formulation));
      const auto energies_of = [&](const std::vector<TriplesMethod>& methods, const TileSource* left) {
        CalculationOptions options = options_of(methods);
        options.formulation = formulation;
        options.omega2 = {0.0, 0.1};
        return calculate(*source, options, left).energies;
      };
      const auto together = energies_of(each.together, each.left);
      std::size_t compared = 0;
      for (const auto& [methods, left] : each.runs) {
        for (const TriplesEnergy& expected : energies_of(methods, left)) {
          const auto found = std::find_if(together.begin(), together.end(), [&](const TriplesEnergy& x) {
            return x.method == expected.method && x.omega2 == expected.omega2;
          });
          ASSERT_NE(found, together.end()) << expected.method;
          for (std::size_t n = 0; n < Energies::count; ++n)
            EXPECT_NEAR(found->total.values()[n], expected.total.values()[n], 1e-15) << expected.method;
          EXPECT_EQ(found->smallest_denominator, expected.smallest_denominator);
          ++compared;
        }
      }
      EXPECT_EQ(compared, together.size());
    }
  }
}

TEST_F(CalculationWithMoments, RefusesMethodsThatShareNoSide) {
  using enum TriplesMethod;
  const auto refused = [&](const std::vector<TriplesMethod>& methods, const TileSource* left, const char* sentence) {
    expect_failure<UsageError>([&] { Calculation(*source, left, options_of(methods)); }, sentence);
  };
  refused({t, two_t}, &lambda, "share no side");
  refused({ct, reg_t}, &lambda, "share no side");
  refused({two_t, reg_gf_t}, &lambda, "reg-gf-t needs regularised ones");
  refused({t, ct}, &lambda, "t has another right side than ct and cr-t");
  refused({ct}, &lambda, "have no Lambda amplitudes");
}

TEST_F(CalculationWithMoments, PlansTheMemoryOfDressedIntegrals) {
  const double o = 5, v = 6;
  const auto bytes = static_cast<std::int64_t>(8 * o * v * (v * v + o * o));
  EXPECT_EQ(Calculation(*source, nullptr, options_of({TriplesMethod::t})).memory().dressed, 0);
  EXPECT_EQ(Calculation(*source, nullptr, options_of({TriplesMethod::ct})).memory().dressed, bytes);
  CalculationOptions options = options_of({TriplesMethod::two_t});
  EXPECT_EQ(Calculation(*source, &lambda, options).memory().dressed, 2 * bytes);
  const auto both = options_of({TriplesMethod::ct, TriplesMethod::two_t});
  EXPECT_EQ(Calculation(*source, &lambda, both).memory().dressed, 2 * bytes);
  options.memory = 2 * bytes - 1;
  expect_failure<UsageError>([&] { Calculation(*source, &lambda, options); }, "The dressed integrals of");
}

TEST_F(CalculationWithMoments, WarnsOfDegenerateOrbitals) {
  // The orbitals pi of this file have no irreps.
  const auto warnings = calculate(*source, options_of({TriplesMethod::cr_cc23}), &lambda).warnings;
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings.front().find("has degenerate orbitals of one symmetry"), std::string::npos);
  EXPECT_EQ(calculate(*source, options_of({TriplesMethod::two_t}), &lambda).warnings, std::vector<std::string>());
}

}
}
