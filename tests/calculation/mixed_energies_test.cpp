#include "cxx/calculation/mixed_energies.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <set>

#include "tests/support/calculations.hpp"
#include "tests/support/molecules.hpp"

namespace trifuse::testing {
namespace {

/// Made-up energies of the tasks of a plan, in double and in mixed precision, hartree.
struct MadeUpEnergies {
  Plan plan;
  std::vector<TaskEnergy> exact, mixed;

  /// `unequal`: 0 for tasks of the same energy; with larger numbers few tasks have most of the energy.
  explicit MadeUpEnergies(std::uint64_t seed, double unequal = 1.0, std::int64_t virtuals = 8) {
    plan = plan_of(virtuals);
    std::mt19937_64 random(seed);
    std::normal_distribution<double> normal;
    for (std::size_t task = 0; task < plan.tasks.size(); ++task) {
      const double size = -1e-3 * std::exp(unequal * normal(random));
      const double bias = 4e-7 * (1.0 + 0.3 * normal(random));
      exact.push_back({{0.1 * size, 0.09 * size}, {size, 0.9 * size}});
      mixed.push_back({(1.0 - bias) * exact.back().same, (1.0 - bias) * exact.back().mixed});
    }
  }
  /// The plan of a molecule, which is the same for all seeds.
  static const Plan& plan_of(std::int64_t virtuals) {
    static std::map<std::int64_t, Plan> plans;
    const auto [found, added] = plans.try_emplace(virtuals);
    if (added) {
      const auto source = make_synthetic_source(closed_shell(4, virtuals));
      found->second = make_plan(source->tiles().retiled(1, 1), SpinFormulation::spin_adapted);
    }
    return found->second;
  }
  std::vector<bool> nothing_in_double() const { return std::vector<bool>(plan.tasks.size(), false); }
  double exact_sum() const { return sum_of(exact); }
  static double sum_of(const std::vector<TaskEnergy>& energies) {
    double sum = 0.0;
    for (const TaskEnergy& energy : energies) sum += (energy.same + energy.mixed).e_paren_t;
    return sum;
  }
  /// Adds the energies that the estimate asks for, until it asks for none. Returns all tasks that it asked for.
  std::vector<std::size_t> answer(MixedEnergies& estimate) const {
    std::vector<std::size_t> all;
    for (auto tasks = estimate.tasks_to_add(); !tasks.empty(); tasks = estimate.tasks_to_add()) {
      std::vector<TaskEnergy> energies;
      for (const std::size_t task : tasks) energies.push_back(exact[task]);
      estimate.add(tasks, energies);
      all.insert(all.end(), tasks.begin(), tasks.end());
    }
    EXPECT_EQ(std::set<std::size_t>(all.begin(), all.end()).size(), all.size()) << "a task is asked for twice";
    return all;
  }
};

TEST(Strata, ContainEachTaskOnceAndOneSpinCaseEach) {
  for (const NamedMolecule& molecule : molecules_of_every_kind()) {
    const auto source = make_synthetic_source(molecule.molecule);
    for (const SpinFormulation formulation : molecule.formulations()) {
      const Plan plan = make_plan(source->tiles().retiled(2, 2), formulation);
      std::vector<int> found(plan.tasks.size(), 0);
      for (const Stratum& stratum : make_strata(plan)) {
        for (const std::size_t task : stratum.tasks) {
          ++found[task];
          EXPECT_EQ(plan.tasks[task].spin_case, stratum.spin_case);
          EXPECT_GE(plan.operations[task], stratum.least_operations);
          EXPECT_LE(plan.operations[task], stratum.most_operations);
        }
        EXPECT_GE(first_sample(stratum), std::min(stratum.tasks.size(), least_sample));
      }
      EXPECT_EQ(found, std::vector<int>(plan.tasks.size(), 1)) << molecule.name;
    }
  }
}

TEST(MixedEnergies, AreCorrectedWithinTwoBarsInAtLeast95OfHundredCases) {
  int cases = 0, covered = 0;
  for (const double unequal : {0.0, 1.0, 2.0}) {
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
      const MadeUpEnergies energies(seed, unequal);
      MixedEnergies estimate(energies.plan, 1, energies.mixed, energies.nothing_in_double(), 1.0);
      energies.answer(estimate);
      const double error = MadeUpEnergies::sum_of(estimate.corrected()) - energies.exact_sum();
      const double bar = estimate.error_bars().front().e_paren_t;
      const double uncorrected = MadeUpEnergies::sum_of(estimate.uncorrected()) - energies.exact_sum();
      EXPECT_LT(estimate.tasks_in_double(), energies.plan.tasks.size() / 4);
      EXPECT_GT(bar, 0.0);
      EXPECT_LT(bar, 0.3 * std::abs(uncorrected));
      ++cases;
      if (std::abs(error) <= 2.0 * bar) ++covered;
    }
  }
  EXPECT_GE(covered, 95 * cases / 100);
  EXPECT_TRUE(covered < cases) << "bars that are never too small are too large";
}

// The part of equal spins is zero by symmetry in most tasks, up to rounding errors that are large relative to it.
TEST(MixedEnergies, DoNotTakeTheErrorsOfAPartFromTasksWithoutIt) {
  int samples_without_it = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    MadeUpEnergies energies(seed, 0.0);
    std::set<std::size_t> tasks_with_it;
    for (std::size_t task = 0; task < energies.plan.tasks.size(); ++task) {
      const bool has_it = task % 64 == seed;
      if (has_it) tasks_with_it.insert(task);
      const Energies same = (has_it ? 1.0 : 1e-12) * energies.exact[task].mixed;
      energies.exact[task].same = same;
      energies.mixed[task].same = (1.0 - (has_it ? 4e-7 : 1e-3)) * same;
    }
    MixedEnergies estimate(energies.plan, 1, energies.mixed, energies.nothing_in_double(), 1.0);
    const auto asked = energies.answer(estimate);
    if (std::none_of(asked.begin(), asked.end(), [&](std::size_t task) { return tasks_with_it.contains(task); })) {
      ++samples_without_it;
    }
    const double error = MadeUpEnergies::sum_of(estimate.corrected()) - energies.exact_sum();
    EXPECT_LT(std::abs(error), 1e-7 * std::abs(energies.exact_sum())) << seed;
  }
  EXPECT_GT(samples_without_it, 0);
}

TEST(MixedEnergies, ReachTheTargetError) {
  const MadeUpEnergies energies(3, 1.5);
  std::size_t before = 0;
  for (const double target : {1e-6, 1e-8, 1e-9, 1e-10, 1e-16}) {
    MixedEnergies estimate(energies.plan, 1, energies.mixed, energies.nothing_in_double(), target);
    const std::size_t asked = energies.answer(estimate).size();
    EXPECT_EQ(asked, estimate.tasks_in_double());
    EXPECT_GE(asked, before);
    before = asked;
    for (const double bar : estimate.error_bars().front().values()) EXPECT_LE(bar, target);
  }
  EXPECT_EQ(before, energies.plan.tasks.size());
  MixedEnergies estimate(energies.plan, 1, energies.mixed, energies.nothing_in_double(), 1e-16);
  energies.answer(estimate);
  EXPECT_EQ(numbers_of(estimate.corrected()), numbers_of(energies.exact));
  EXPECT_EQ(estimate.error_bars().front().e_paren_t, 0.0);
}

/// An error in a few tasks that have no energy would not be in a sample of large energies.
TEST(MixedEnergies, FallBackToDoublePrecisionIfTheyAreWrong) {
  constexpr double infinite = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  for (const double factor : {0.0, 1.001, -1.0, infinite, nan}) {
    MadeUpEnergies energies(5, 0.5);
    const Stratum spoiled = make_strata(energies.plan).front();
    for (const std::size_t task : spoiled.tasks) energies.mixed[task].mixed *= factor;
    MixedEnergies estimate(energies.plan, 1, energies.mixed, energies.nothing_in_double(), {});
    energies.answer(estimate);
    ASSERT_EQ(estimate.warnings().size(), 1u) << factor;
    EXPECT_NE(estimate.warnings().front().find("are computed in double precision"), std::string::npos);
    EXPECT_TRUE(estimate.strata().front().spoiled);
    EXPECT_EQ(estimate.strata().front().tasks_in_double, spoiled.tasks.size());
    for (const std::size_t task : spoiled.tasks) {
      EXPECT_EQ(numbers_of(std::span(&estimate.corrected()[task], 1)), numbers_of(std::span(&energies.exact[task], 1)));
    }
    const double sum = energies.exact_sum();
    EXPECT_NEAR(MadeUpEnergies::sum_of(estimate.corrected()), sum, 2e-8 * std::abs(sum));
    EXPECT_TRUE(std::isfinite(MadeUpEnergies::sum_of(estimate.uncorrected())));
  }
}

TEST(MixedEnergies, OneTaskThatIsNotFiniteSpoilsItsStratumOnly) {
  MadeUpEnergies energies(6, 0.5);
  const auto strata = make_strata(energies.plan);
  ASSERT_GE(strata.size(), 2u);
  energies.mixed[strata.back().tasks.back()].same.e_bracket_t = std::numeric_limits<double>::quiet_NaN();
  MixedEnergies estimate(energies.plan, 1, energies.mixed, energies.nothing_in_double(), {});
  energies.answer(estimate);
  for (const StratumReport& report : estimate.strata())
    EXPECT_EQ(report.spoiled, report.tasks_in_double == report.tasks);
  EXPECT_TRUE(estimate.strata().back().spoiled);
  EXPECT_FALSE(estimate.strata().front().spoiled);
  EXPECT_EQ(estimate.warnings().size(), 1u);
}

TEST(MixedEnergies, AskForNoTaskThatIsInDoublePrecisionAlready) {
  MadeUpEnergies energies(7);
  std::vector<bool> in_double = energies.nothing_in_double();
  for (std::size_t task = 0; task < in_double.size(); task += 2) {
    in_double[task] = true;
    energies.mixed[task] = energies.exact[task];
  }
  MixedEnergies estimate(energies.plan, 1, energies.mixed, in_double, {});
  for (const std::size_t task : energies.answer(estimate)) EXPECT_FALSE(in_double[task]);
  EXPECT_GT(estimate.tasks_in_double(), in_double.size() / 2);
  const double error = MadeUpEnergies::sum_of(estimate.corrected()) - energies.exact_sum();
  EXPECT_LE(std::abs(error), 3.0 * estimate.error_bars().front().e_paren_t);
  // Nothing is left to do if all tasks are.
  MixedEnergies all(energies.plan, 1, energies.exact, std::vector<bool>(in_double.size(), true), 1e-12);
  EXPECT_TRUE(all.tasks_to_add().empty());
  EXPECT_EQ(all.error_bars().front().e_paren_t, 0.0);
}

TEST(MixedEnergies, OfNoTasksAreZero) {
  MadeUpEnergies energies(1);
  energies.plan.tasks.clear();
  energies.plan.operations.clear();
  MixedEnergies estimate(energies.plan, 2, {}, {}, {});
  EXPECT_TRUE(estimate.tasks_to_add().empty());
  EXPECT_EQ(estimate.error_bars().size(), 2u);
  EXPECT_TRUE(estimate.corrected().empty());
}

}
}
