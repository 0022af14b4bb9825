#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <thread>
#include <vector>

#include "cxx/base/clock.hpp"
#include "cxx/parallel/run_tasks.hpp"
#include "tests/support/made_up_executor.hpp"
#include "tests/support/molecules.hpp"
#include "tests/support/thread_communicator.hpp"

/// Ranks of different speeds. For each task a rank sleeps as long as the task would take.
namespace trifuse::testing {
namespace {

using Role = RankAssignment::Role;

/// A job that was too slow is repeated, because other programs may slow down the machine for some seconds.
constexpr int most_repeats = 10;

struct Rank {
  Role role;
  double rate;  ///< estimated speed; 1: a rank that alone needs 1.5 s for the job
  double true_rate;
  int threads = 1;  ///< of the processor; a GPU executes one task at a time in any case
};

class SlowRanks : public ::testing::Test {
 protected:
  std::unique_ptr<TileSource> source = make_synthetic_source(closed_shell(6, 11, 1));
  Plan plan = make_plan(source->tiles().retiled(2, 3), SpinFormulation::spin_orbital);
  std::map<std::array<int, 6>, double> operations = [this] {
    std::map<std::array<int, 6>, double> all;
    for (std::size_t t = 0; t < plan.tasks.size(); ++t) all[tiles_of(plan.tasks[t])] = plan.operations[t];
    return all;
  }();

  static std::array<int, 6> tiles_of(const Task& task) {
    return {task.particles[0], task.particles[1], task.particles[2], task.holes[0], task.holes[1], task.holes[2]};
  }

  struct Times {
    double seconds;
    std::vector<RankWork> ranks;
  };

  /// Runs the job and returns its time. A single rank of rate 1 needs 1.5 s.
  Times time(const std::vector<Rank>& ranks) {
    Times times{};
    const auto failures = failures_of_ranks(static_cast<int>(ranks.size()), [&](Communicator& communicator) {
      const Rank& rank = ranks[static_cast<std::size_t>(communicator.rank())];
      const double seconds_per_operation = 1.5 / (rank.true_rate * plan.total_operations);
      double owed = 0.0;
      const auto sleep = [&](const Task& task) {
        // If a sleep takes too long, the next sleeps are shorter.
        owed += seconds_per_operation * operations.at(tiles_of(task));
        const double start = wall_seconds();
        if (owed > 0.0) std::this_thread::sleep_for(std::chrono::duration<double>(owed));
        owed -= wall_seconds() - start;
        return TaskEnergy{};
      };
      const MadeUpExecutor executor(sleep, {}, 1);
      RunSettings settings;
      settings.communicator = &communicator;
      settings.assignment.role = rank.role;
      settings.assignment.rate = rank.rate;
      settings.assignment.threads = rank.threads;
      const double start = wall_seconds();
      const RunOutcome outcome = run_tasks(plan, executor, 1, settings);
      if (communicator.rank() == 0) times = {wall_seconds() - start, outcome.ranks};
    });
    EXPECT_EQ(failures, std::vector<std::string>(ranks.size()));
    return times;
  }

  /// Compares the shortest of several times.
  void expect_no_longer(const std::vector<Rank>& without, const std::vector<Rank>& with) {
    constexpr double at_most = 1.02;
    double shortest_without = 1e9, shortest_with = 1e9;
    for (int repeat = 0; repeat < most_repeats; ++repeat) {
      shortest_without = std::min(shortest_without, time(without).seconds);
      shortest_with = std::min(shortest_with, time(with).seconds);
      if (shortest_with <= at_most * shortest_without) break;
    }
    EXPECT_LE(shortest_with, at_most * shortest_without);
  }
};

constexpr Rank gpu = {Role::worker, 1.0, 1.0};

TEST_F(SlowRanks, ThatHelpDoNotLengthenAJob) {
  ASSERT_GT(plan.tasks.size(), 300u);
  expect_no_longer({gpu}, {gpu, {Role::cpu_worker, 0.1, 0.1}});
  expect_no_longer({gpu}, {gpu, {Role::cpu_worker, 0.01, 0.01}, {Role::cpu_worker, 0.01, 0.01}});
}

TEST_F(SlowRanks, ThatHelpAndAreSlowerThanEstimatedDoNotLengthenAJob) {
  expect_no_longer({gpu}, {gpu, {Role::cpu_worker, 0.1, 0.02}});
  expect_no_longer({gpu, gpu}, {gpu, gpu, {Role::cpu_worker, 0.05, 0.02}});
}

TEST_F(SlowRanks, ThatWorkAndAreSlowerThanEstimatedDoNotLengthenAJob) {
  expect_no_longer({gpu, gpu}, {gpu, gpu, {Role::worker, 1.0, 0.05}});
}

TEST_F(SlowRanks, WithManyThreadsBesideTheirGpusWorkToTheEnd) {
  constexpr Rank slower = {Role::worker, 1.0, 0.5, 64};
  Times best{1e9, {}};
  for (int repeat = 0; repeat < most_repeats && best.seconds > 1.05; ++repeat) {
    Times now = time({{Role::worker, 1.0, 1.0, 64}, slower});
    if (now.seconds < best.seconds) best = std::move(now);
  }
  // The job takes 1.5 s on one rank of rate 1. Both ranks together have the rate 1.5.
  EXPECT_LT(best.seconds, 1.05);
  EXPECT_NEAR(best.ranks.at(1).operations / plan.total_operations, 1.0 / 3, 0.03);
}

TEST_F(SlowRanks, ThatHelpShortenAJobByNearlyWhatTheyCan) {
  Times best{1e9, {}};
  for (int repeat = 0; repeat < most_repeats && best.seconds > 1.5 / 1.4 * 1.1; ++repeat) {
    Times now = time({gpu, {Role::cpu_worker, 0.2, 0.2}, {Role::cpu_worker, 0.2, 0.2}});
    if (now.seconds < best.seconds) best = std::move(now);
  }
  EXPECT_LT(best.seconds, 1.5 / 1.4 * 1.1);
  ASSERT_EQ(best.ranks.size(), 3u);
  double share_of_cpu_workers = (best.ranks[1].operations + best.ranks[2].operations) / plan.total_operations;
  EXPECT_GT(share_of_cpu_workers, 0.2);
  EXPECT_LT(share_of_cpu_workers, 0.4 / 1.4 * 1.1);
  for (const RankWork& rank : best.ranks) {
    EXPECT_TRUE(rank.computed);
    EXPECT_GT(rank.seconds_busy, 0.5 * best.seconds);
    EXPECT_NEAR(rank.seconds_busy + rank.seconds_idle, best.seconds, 0.1 * best.seconds);
  }
}

}
}
