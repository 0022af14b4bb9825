#include "cxx/parallel/units.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <mutex>
#include <numeric>

#include "tests/support/molecules.hpp"
#include "tests/support/thread_communicator.hpp"

namespace trifuse::testing {
namespace {

using Role = TeamShare::Role;

Plan plan_of_tiles(std::int64_t size) {
  return make_plan(make_synthetic_source(closed_shell(8, 14, 2))->tiles().retiled(size, size),
                   SpinFormulation::spin_orbital);
}

TEST(Units, HoldEveryTaskOnce) {
  for (const std::int64_t size : {1, 2, 5}) {
    const Plan plan = plan_of_tiles(size);
    for (const int ranks : {1, 2, 64}) {
      std::vector<int> times(plan.tasks.size(), 0);
      double operations = 0.0;
      for (const Unit& unit : make_units(plan, ranks)) {
        ASSERT_LT(unit.first, unit.last);
        for (std::size_t t = unit.first; t < unit.last; ++t) ++times.at(t);
        operations += unit.operations;
      }
      EXPECT_EQ(times, std::vector<int>(plan.tasks.size(), 1));
      EXPECT_NEAR(operations, plan.total_operations, 1e-9 * plan.total_operations);
    }
  }
}

TEST(Units, ShrinkFromA32ndOfAShareToA400th) {
  const Plan plan = plan_of_tiles(1);
  for (const int ranks : {2, 5}) {
    const double share = plan.total_operations / ranks;
    const auto units = make_units(plan, ranks);
    const double largest_task = *std::max_element(plan.operations.begin(), plan.operations.end());
    ASSERT_LT(largest_task, share / 400);
    EXPECT_GT(units.front().operations, 0.7 * share / 32);
    double least = share;
    for (const Unit& unit : units) {
      EXPECT_LE(unit.operations, share / 32 + largest_task);
      // The last of the plan is what is left.
      if (unit.last < plan.tasks.size()) least = std::min(least, unit.operations);
    }
    EXPECT_GE(least, 0.7 * share / 400 - largest_task);
    EXPECT_LE(units.back().operations, 2.0 * share / 400 + largest_task);
    EXPECT_GE(units.size(), 80u * static_cast<std::size_t>(ranks));
    EXPECT_LE(units.size(), 160u * static_cast<std::size_t>(ranks));
  }
  EXPECT_EQ(make_units(plan, 1).size(), 1u);
}

// A rank eight times slower than the others, which gets a unit first of all, ends with them.
TEST(Units, AreSmallEnoughForASlowRank) {
  const Plan plan = plan_of_tiles(1);
  const int ranks = 8;
  const auto units = make_units(plan, ranks);
  std::vector<double> free_at(ranks, 0.0), speed(ranks, 1.0);
  speed[0] = 1.0 / 8;
  for (const Unit& unit : units) {
    const auto next = std::min_element(free_at.begin(), free_at.end()) - free_at.begin();
    free_at[static_cast<std::size_t>(next)] += unit.operations / speed[static_cast<std::size_t>(next)];
  }
  const double ideal = plan.total_operations / (ranks - 1 + speed[0]);
  EXPECT_LT(*std::max_element(free_at.begin(), free_at.end()), 1.05 * ideal);
}

TEST(Units, ComeLargestFirst) {
  const auto units = make_units(plan_of_tiles(5), 4);
  for (std::size_t n = 1; n < units.size(); ++n) {
    EXPECT_LT(units[n].operations, 2.0 * units[n - 1].operations + 1.0);
  }
  EXPECT_GT(units.front().operations, units.back().operations);
}

TEST(Units, OfNoTasksAreNone) {
  EXPECT_TRUE(make_units(Plan{}, 3).empty());
}

/// How often each unit is claimed, and by whom, with one claimer for each share.
std::vector<std::vector<int>> claimers(const std::vector<Unit>& units, const std::vector<TeamShare>& shares) {
  std::vector<std::vector<int>> by(units.size());
  std::mutex mutex;
  const auto failures = failures_of_ranks(static_cast<int>(shares.size()), [&](Communicator& communicator) {
    UnitClaims claims(communicator, units, shares[static_cast<std::size_t>(communicator.rank())]);
    for (auto given = claims.next(); !given.empty(); given = claims.next()) {
      const std::lock_guard lock(mutex);
      for (const Unit& unit : given) by.at(unit.first).push_back(communicator.rank());
    }
    EXPECT_TRUE(claims.next().empty());
  });
  EXPECT_EQ(failures, std::vector<std::string>(shares.size()));
  return by;
}

std::vector<Unit> equal_units(std::size_t count) {
  std::vector<Unit> units;
  for (std::size_t n = 0; n < count; ++n) units.push_back({n, n + 1, 100.0});
  return units;
}

TEST(UnitClaims, AreOfOneRankEach) {
  for (int repeat = 0; repeat < 20; ++repeat) {
    const TeamShare front{Role::worker, 1.0, 3.0, 1}, back{Role::helper, 1.0, 3.0, 1}, none{Role::waiter, 1.0, 3.0, 1};
    for (const auto& ranks : claimers(equal_units(500), {front, back, front, none, back})) {
      ASSERT_EQ(ranks.size(), 1u);
      EXPECT_NE(ranks[0], 3);
    }
  }
}

/// The numbers of the units that one rank is given at once.
std::vector<std::size_t> numbers_of(const std::vector<Unit>& units) {
  std::vector<std::size_t> numbers;
  for (const Unit& unit : units) numbers.push_back(unit.first);
  return numbers;
}

TEST(UnitClaims, OfAHelperComeFromTheEndAndLeaveTheLastToTheWorkers) {
  ThreadRanks ranks(1);
  ThreadCommunicator communicator(ranks, 0);
  // A tenth of all. As long as that is an estimate it may begin a unit while twenty or more are left.
  UnitClaims helper(communicator, equal_units(30), {Role::helper, 1.0, 10.0, 1});
  UnitClaims worker(communicator, equal_units(30), {Role::worker, 9.0, 10.0, 1});
  EXPECT_EQ(numbers_of(worker.next()), (std::vector<std::size_t>{0}));
  EXPECT_EQ(numbers_of(helper.next()), (std::vector<std::size_t>{29}));
  EXPECT_EQ(numbers_of(helper.next()), (std::vector<std::size_t>{28}));
  std::size_t helped = 2;
  while (!helper.next().empty()) ++helped;
  EXPECT_EQ(helped, 9u);  // 1 by the worker, and 20 left
  std::size_t worked = 1;
  for (auto given = worker.next(); !given.empty(); given = worker.next()) worked += given.size();
  EXPECT_EQ(worked, 21u);
}

/// Eight threads, each on a task of its own, would not be done with the last unit in time; together they are.
TEST(UnitClaims, OfAHelperWhoseThreadsWorkTogetherAreWorthMore) {
  for (const bool threads_together : {false, true}) {
    ThreadRanks ranks(1);
    ThreadCommunicator communicator(ranks, 0);
    const TeamShare share{
        .role = Role::helper, .rate = 1.0, .team_rate = 10.0, .threads = 8, .threads_together = threads_together};
    UnitClaims helper(communicator, equal_units(100), share);
    EXPECT_EQ(helper.next().size(), threads_together ? 1u : 0u);
  }
}

TEST(UnitClaims, OfAWorkerAreA32ndOfItsShareOfTheRest) {
  ThreadRanks ranks(1);
  ThreadCommunicator communicator(ranks, 0);
  UnitClaims claims(communicator, equal_units(1000), {Role::worker, 4.0, 8.0, 1});
  std::vector<std::size_t> sizes;
  for (auto given = claims.next(); !given.empty(); given = claims.next()) sizes.push_back(given.size());
  EXPECT_EQ(sizes.front(), 15u);  // of 1000
  EXPECT_EQ(sizes.back(), 1u);
  EXPECT_TRUE(std::is_sorted(sizes.begin(), sizes.end(), std::greater<>()));
  EXPECT_EQ(std::accumulate(sizes.begin(), sizes.end(), std::size_t{0}), 1000u);
}

TEST(UnitClaims, OfAWorkerThatTurnsOutToBeSlowEndEarly) {
  ThreadRanks ranks(1);
  ThreadCommunicator communicator(ranks, 0);
  const TeamShare share{.role = Role::worker, .rate = 1.0, .team_rate = 2.0, .threads = 1, .worker_rate = 1.0};
  UnitClaims slow(communicator, equal_units(100), share), other(communicator, equal_units(100), share);
  std::size_t given = slow.next().size();
  EXPECT_GT(given, 0u);
  slow.measured(0.001);
  // A hundred seconds of a unit are nothing to the others, who have done nearly all in no time.
  while (given < 98) {
    const std::size_t more = other.next().size();
    ASSERT_GT(more, 0u);
    given += more;
  }
  EXPECT_TRUE(slow.next().empty());
  other.measured(1e20);
  EXPECT_FALSE(other.next().empty());
}

TEST(UnitClaims, OfAFailedGpuGoOnAsThoseOfCores) {
  ThreadRanks ranks(1);
  ThreadCommunicator communicator(ranks, 0);
  const TeamShare share{.role = Role::worker,
                        .rate = 100.0,
                        .team_rate = 200.0,
                        .threads = 1,
                        .rate_on_cores = 1.0,
                        .worker_rate = 100.0};
  UnitClaims claims(communicator, equal_units(1000), share);
  EXPECT_EQ(claims.next().front().first, 0u);
  claims.goes_on_with_cores();
  EXPECT_EQ(numbers_of(claims.next()), (std::vector<std::size_t>{999}));
}

TEST(UnitClaims, AreNoneAfterADrain) {
  ThreadRanks ranks(1);
  ThreadCommunicator communicator(ranks, 0);
  UnitClaims one(communicator, equal_units(30), {}), other(communicator, equal_units(30), {Role::helper, 1.0, 2.0, 1}),
      third(communicator, equal_units(30), {});
  EXPECT_FALSE(one.next().empty());
  one.drain();
  third.drain();
  EXPECT_TRUE(one.drained());
  EXPECT_TRUE(one.next().empty());
  EXPECT_TRUE(other.next().empty());
  EXPECT_TRUE(other.drained());
  // Those of the next run are others.
  UnitClaims next(communicator, equal_units(30), {}, UnitClaims::counter_of(communicator));
  EXPECT_EQ(next.next().front().first, 0u);
}

TEST(UnitClaims, OfASlowRankAreSmall) {
  EXPECT_EQ(ranks_to_cut_for({1.0, 1.0, 1.0}), 3);
  EXPECT_EQ(ranks_to_cut_for({30.0, 0.0, 0.0}), 3);
  // A unit from the end is 1/400 of 1/16 of the job, and takes the slowest, which does 1/31 of it, 0.5 % of the time.
  EXPECT_EQ(ranks_to_cut_for({30.0, 1.0}), 16);
  EXPECT_EQ(ranks_to_cut_for({1e6, 1.0}), 2000);
}

}  // namespace
}  // namespace trifuse::testing
