#include "cxx/parallel/dynamic_scheduler.hpp"

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

using Role = RankAssignment::Role;

Plan plan_of_tiles(std::int64_t size) {
  return make_plan(make_synthetic_source(closed_shell(8, 14, 2))->tiles().retiled(size, size),
                   SpinFormulation::spin_orbital);
}

TEST(WorkChunks, HoldEveryTaskOnce) {
  for (const std::int64_t size : {1, 2, 5}) {
    const Plan plan = plan_of_tiles(size);
    ASSERT_FALSE(plan.tasks.empty());
    for (const int ranks : {1, 2, 64}) {
      std::vector<int> times(plan.tasks.size(), 0);
      double operations = 0.0;
      for (const WorkChunk& chunk : make_work_chunks(plan, ranks)) {
        ASSERT_LT(chunk.first, chunk.last);
        for (std::size_t t = chunk.first; t < chunk.last; ++t) ++times.at(t);
        operations += chunk.operations;
      }
      EXPECT_EQ(times, std::vector<int>(plan.tasks.size(), 1));
      EXPECT_NEAR(operations, plan.total_operations, 1e-9 * plan.total_operations);
    }
  }
}

TEST(WorkChunks, ShrinkFromA32ndOfAShareToA400th) {
  const Plan plan = plan_of_tiles(1);
  for (const int ranks : {2, 5}) {
    const double share = plan.total_operations / ranks;
    const auto chunks = make_work_chunks(plan, ranks);
    const double largest_task = *std::max_element(plan.operations.begin(), plan.operations.end());
    ASSERT_LT(largest_task, share / 400);
    EXPECT_GT(chunks.front().operations, 0.7 * share / 32);
    double least = share;
    for (const WorkChunk& chunk : chunks) {
      EXPECT_LE(chunk.operations, share / 32 + largest_task);
      // The chunk with the last tasks of the plan has only the rest.
      if (chunk.last < plan.tasks.size()) least = std::min(least, chunk.operations);
    }
    EXPECT_GE(least, 0.7 * share / 400 - largest_task);
    EXPECT_LE(chunks.back().operations, 2.0 * share / 400 + largest_task);
    EXPECT_GE(chunks.size(), 80u * static_cast<std::size_t>(ranks));
    EXPECT_LE(chunks.size(), 160u * static_cast<std::size_t>(ranks));
  }
  EXPECT_EQ(make_work_chunks(plan, 1).size(), 1u);
}

// A rank is eight times slower than the others and gets the first chunk. It finishes at about the same time.
TEST(WorkChunks, AreSmallEnoughForASlowRank) {
  const Plan plan = plan_of_tiles(1);
  const int ranks = 8;
  const auto chunks = make_work_chunks(plan, ranks);
  std::vector<double> free_at(ranks, 0.0), speed(ranks, 1.0);
  speed[0] = 1.0 / 8;
  for (const WorkChunk& chunk : chunks) {
    const auto next = std::min_element(free_at.begin(), free_at.end()) - free_at.begin();
    free_at[static_cast<std::size_t>(next)] += chunk.operations / speed[static_cast<std::size_t>(next)];
  }
  const double ideal = plan.total_operations / (ranks - 1 + speed[0]);
  EXPECT_LT(*std::max_element(free_at.begin(), free_at.end()), 1.05 * ideal);
}

TEST(WorkChunks, ComeLargestFirst) {
  const auto chunks = make_work_chunks(plan_of_tiles(5), 4);
  ASSERT_GT(chunks.size(), 1u);
  for (std::size_t n = 1; n < chunks.size(); ++n) {
    EXPECT_LT(chunks[n].operations, 2.0 * chunks[n - 1].operations + 1.0);
  }
  EXPECT_GT(chunks.front().operations, chunks.back().operations);
}

TEST(WorkChunks, OfNoTasksAreNone) {
  EXPECT_TRUE(make_work_chunks(Plan{}, 3).empty());
}

/// Returns, for each chunk, the ranks that have claimed it. There is one rank for each assignment.
std::vector<std::vector<int>> ranks_of_chunks(const std::vector<WorkChunk>& chunks,
                                              const std::vector<RankAssignment>& assignments) {
  std::vector<std::vector<int>> by(chunks.size());
  std::mutex mutex;
  const auto failures = failures_of_ranks(static_cast<int>(assignments.size()), [&](Communicator& communicator) {
    DynamicScheduler scheduler(communicator, chunks, assignments[static_cast<std::size_t>(communicator.rank())]);
    for (auto given = scheduler.next(); !given.empty(); given = scheduler.next()) {
      const std::lock_guard lock(mutex);
      for (const WorkChunk& chunk : given) by.at(chunk.first).push_back(communicator.rank());
    }
    EXPECT_TRUE(scheduler.next().empty());
  });
  EXPECT_EQ(failures, std::vector<std::string>(assignments.size()));
  return by;
}

std::vector<WorkChunk> equal_chunks(std::size_t count) {
  std::vector<WorkChunk> chunks;
  for (std::size_t n = 0; n < count; ++n) chunks.push_back({n, n + 1, 100.0});
  return chunks;
}

TEST(DynamicScheduler, GivesEachChunkToOneRank) {
  for (int repeat = 0; repeat < 20; ++repeat) {
    const RankAssignment front{Role::worker, 1.0, 3.0, 1}, back{Role::cpu_worker, 1.0, 3.0, 1},
        none{Role::idle, 1.0, 3.0, 1};
    for (const auto& ranks : ranks_of_chunks(equal_chunks(500), {front, back, front, none, back})) {
      ASSERT_EQ(ranks.size(), 1u);
      EXPECT_NE(ranks[0], 3);
    }
  }
}

/// The numbers of these chunks.
std::vector<std::size_t> numbers_of(const std::vector<WorkChunk>& chunks) {
  std::vector<std::size_t> numbers;
  for (const WorkChunk& chunk : chunks) numbers.push_back(chunk.first);
  return numbers;
}

TEST(DynamicScheduler, GivesACpuWorkerChunksFromTheEndAndLeavesTheLastToTheWorkers) {
  ThreadRanks ranks(1);
  ThreadCommunicator communicator(ranks, 0);
  // The CPU worker has a tenth of all speed. As long as its speed is an estimate, it may begin a chunk if at least
  // twenty chunks are left.
  DynamicScheduler cpu_worker(communicator, equal_chunks(30), {Role::cpu_worker, 1.0, 10.0, 1});
  DynamicScheduler worker(communicator, equal_chunks(30), {Role::worker, 9.0, 10.0, 1});
  EXPECT_EQ(numbers_of(worker.next()), (std::vector<std::size_t>{0}));
  EXPECT_EQ(numbers_of(cpu_worker.next()), (std::vector<std::size_t>{29}));
  EXPECT_EQ(numbers_of(cpu_worker.next()), (std::vector<std::size_t>{28}));
  std::size_t helped = 2;
  while (!cpu_worker.next().empty()) ++helped;
  EXPECT_EQ(helped, 9u);  // of 30: the worker has 1, and 20 are left
  std::size_t worked = 1;
  for (auto given = worker.next(); !given.empty(); given = worker.next()) worked += given.size();
  EXPECT_EQ(worked, 21u);
}

/// Eight threads with a task each would not finish the last chunk in time. Eight threads that share a task do.
TEST(DynamicScheduler, ValuesACpuWorkerWhoseThreadsShareATaskHigher) {
  for (const bool threads_share_task : {false, true}) {
    ThreadRanks ranks(1);
    ThreadCommunicator communicator(ranks, 0);
    const RankAssignment assignment{.role = Role::cpu_worker,
                                    .rate = 1.0,
                                    .total_rate = 10.0,
                                    .threads = 8,
                                    .threads_share_task = threads_share_task};
    DynamicScheduler cpu_worker(communicator, equal_chunks(100), assignment);
    EXPECT_EQ(cpu_worker.next().size(), threads_share_task ? 1u : 0u);
  }
}

TEST(DynamicScheduler, GivesAWorkerA32ndOfItsShareOfTheRest) {
  ThreadRanks ranks(1);
  ThreadCommunicator communicator(ranks, 0);
  DynamicScheduler scheduler(communicator, equal_chunks(1000), {Role::worker, 4.0, 8.0, 1});
  std::vector<std::size_t> sizes;
  for (auto given = scheduler.next(); !given.empty(); given = scheduler.next()) sizes.push_back(given.size());
  EXPECT_EQ(sizes.front(), 15u);  // of 1000
  EXPECT_EQ(sizes.back(), 1u);
  EXPECT_TRUE(std::is_sorted(sizes.begin(), sizes.end(), std::greater<>()));
  EXPECT_EQ(std::accumulate(sizes.begin(), sizes.end(), std::size_t{0}), 1000u);
}

TEST(DynamicScheduler, StopsEarlyForAWorkerThatTurnsOutToBeSlow) {
  ThreadRanks ranks(1);
  ThreadCommunicator communicator(ranks, 0);
  const RankAssignment assignment{
      .role = Role::worker, .rate = 1.0, .total_rate = 2.0, .threads = 1, .worker_rate = 1.0};
  DynamicScheduler slow(communicator, equal_chunks(100), assignment),
      other(communicator, equal_chunks(100), assignment);
  std::size_t given = slow.next().size();
  EXPECT_GT(given, 0u);
  slow.measured(0.001);
  // The slow rank would need much longer for one chunk than the other rank for all that is left.
  while (given < 98) {
    const std::size_t more = other.next().size();
    ASSERT_GT(more, 0u);
    given += more;
  }
  EXPECT_TRUE(slow.next().empty());
  other.measured(1e20);
  EXPECT_FALSE(other.next().empty());
}

TEST(DynamicScheduler, ContinuesOnCoresAfterAFailedGpu) {
  ThreadRanks ranks(1);
  ThreadCommunicator communicator(ranks, 0);
  const RankAssignment assignment{.role = Role::worker,
                                  .rate = 100.0,
                                  .total_rate = 200.0,
                                  .threads = 1,
                                  .rate_on_cores = 1.0,
                                  .worker_rate = 100.0};
  DynamicScheduler scheduler(communicator, equal_chunks(1000), assignment);
  EXPECT_EQ(scheduler.next().front().first, 0u);
  scheduler.continue_on_cores();
  EXPECT_EQ(numbers_of(scheduler.next()), (std::vector<std::size_t>{999}));
}

TEST(DynamicScheduler, GivesNothingAfterADrain) {
  ThreadRanks ranks(1);
  ThreadCommunicator communicator(ranks, 0);
  DynamicScheduler one(communicator, equal_chunks(30), {}),
      other(communicator, equal_chunks(30), {Role::cpu_worker, 1.0, 2.0, 1}), third(communicator, equal_chunks(30), {});
  EXPECT_FALSE(one.next().empty());
  one.drain();
  third.drain();
  EXPECT_TRUE(one.drained());
  EXPECT_TRUE(one.next().empty());
  EXPECT_TRUE(other.next().empty());
  EXPECT_TRUE(other.drained());
  // A scheduler of the next run assigns all chunks again.
  DynamicScheduler next(communicator, equal_chunks(30), {}, DynamicScheduler::counter_of(communicator));
  EXPECT_EQ(next.next().front().first, 0u);
}

/// One of many ranks that fail at the same moment. Until it marks the counter it does not see the marks of the others.
class FailingRank final : public Communicator {
 public:
  explicit FailingRank(Communicator& ranks) : ranks_(ranks), begin_(DynamicScheduler::counter_of(ranks)) {}
  int rank() const override { return 0; }
  int size() const override { return 1; }
  std::int64_t fetch_add(int counter, std::int64_t amount) override {
    if (amount == 0 && !marks_) return begin_;
    marks_ = true;
    return ranks_.fetch_add(counter, amount);
  }
  void allreduce_sum(std::span<double>) override {}

 private:
  Communicator& ranks_;
  const std::int64_t begin_;
  bool marks_ = false;
};

TEST(DynamicScheduler, GivesNothingAfterManyDrainsAtTheSameMoment) {
  for (const std::size_t failing : {63, 64, 65, 128, 1000}) {
    ThreadRanks ranks(1);
    ThreadCommunicator communicator(ranks, 0);
    std::vector<FailingRank> failing_ranks(failing, FailingRank(communicator));
    for (FailingRank& rank : failing_ranks) DynamicScheduler(rank, equal_chunks(30), {}).drain();
    DynamicScheduler other(communicator, equal_chunks(30), {});
    EXPECT_TRUE(other.next().empty()) << failing;
    EXPECT_TRUE(other.drained()) << failing;
  }
}

TEST(DynamicScheduler, GivesASlowRankSmallChunks) {
  EXPECT_EQ(ranks_to_divide_for({1.0, 1.0, 1.0}), 3);
  EXPECT_EQ(ranks_to_divide_for({30.0, 0.0, 0.0}), 3);
  // A chunk at the end is 1/400 of 1/16 of the job. The slow rank has 1/31 of all speed. It needs 0.5 % of the duration
  // of the job for this chunk.
  EXPECT_EQ(ranks_to_divide_for({30.0, 1.0}), 16);
  EXPECT_EQ(ranks_to_divide_for({1e6, 1.0}), 2000);
}

}
}
