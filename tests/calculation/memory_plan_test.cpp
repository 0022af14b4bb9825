#include "cxx/calculation/memory_plan.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "cxx/base/error.hpp"
#include "cxx/parallel/rank_assignment.hpp"
#include "tests/support/refusals.hpp"

namespace trifuse::testing {
namespace {

using Role = RankAssignment::Role;
constexpr std::int64_t kib = 1024;  // amounts of this file are in KiB

/// A rank with 8 threads that needs 1000 KiB of operands, and 10 of scratch and 5 of operands for each thread.
MemoryPlan small_plan() {
  MemoryPlan plan;
  plan.threads = 8;
  plan.operands = 1000 * kib;
  plan.scratch_per_thread = 10 * kib;
  plan.in_use_per_thread = 5 * kib;
  plan.all_made = 300 * kib;
  return plan;
}

MemoryPlan limited(std::int64_t amount) {
  MemoryPlan plan = small_plan();
  plan.limit = amount * kib;
  plan.limit_asked = true;
  return plan;
}

RankAssignment on_host(double amount, Role role = Role::worker) {
  RankAssignment assignment;
  assignment.role = role;
  assignment.memory = amount * kib;
  return assignment;
}

TEST(MemoryPlan, UsesAsManyThreadsAsTheLimitAllows) {
  MemoryPlan plan = limited(79);
  plan.fit_threads();
  EXPECT_EQ(plan.threads, 7);
  EXPECT_EQ(plan.scratch(), 70 * kib);
  plan = limited(10);
  plan.fit_threads();
  EXPECT_EQ(plan.threads, 1);
  plan = limited(9);
  expect_failure<UsageError>([&] { plan.fit_threads(); }, "one thread needs 10.0 KiB; give --memory 11KiB or more");
  // The reference executor and GPUs have no scratch here.
  plan = limited(1);
  plan.scratch_per_thread = 0;
  plan.fit_threads();
  EXPECT_EQ(plan.threads, 8);
}

TEST(MemoryPlan, LeavesTheRestOfTheLimitToPanelsFromFactors) {
  EXPECT_EQ(small_plan().made(), 300 * kib);
  EXPECT_EQ(limited(100).made(), 20 * kib);
  EXPECT_EQ(limited(70).made(), 0);
  MemoryPlan without_factors = small_plan();
  without_factors.all_made = 0;
  EXPECT_EQ(without_factors.made(), 0);
}

TEST(MemoryPlan, RefusesARotationThatDoesNotFit) {
  MemoryPlan plan = limited(100);
  plan.rotation_peak = 100 * kib;
  plan.check_rotation("water", 1);
  plan.rotation_peak = 101 * kib;
  expect_failure<UsageError>([&] { plan.check_rotation("water", 1); }, "Rotating water to semicanonical orbitals");
  expect_failure<UsageError>([&] { plan.check_rotation("water", 2); }, " of each process; allow it with --memory");
  plan.limit_asked = false;  // ranks know the memory of their hosts and check later
  plan.check_rotation("water", 2);
  expect_failure<UsageError>([&] { plan.check_rotation("water", 1); }, "Rotating water");
  plan.gpus = 1;  // the limit is not that of the host
  plan.check_rotation("water", 1);
}

TEST(MemoryPlan, CountsTheSumsOfDerivativesInEachRank) {
  MemoryPlan plan = limited(100);
  plan.sums = 100 * kib;
  plan.check_sums("a.h5");
  plan.sums = 101 * kib;
  expect_failure<UsageError>([&] { plan.check_sums("a.h5"); },
                             "The sums of derivatives of a.h5 take 101.0 KiB of memory in each process");
  plan = limited(1000);
  plan.threads = 2;
  plan.share(on_host(1e9), 4);
  const std::int64_t without = plan.for_operands;
  plan = limited(1000);
  plan.threads = 2;
  plan.sums = 200 * kib;
  plan.share(on_host(1e9), 4);
  EXPECT_EQ(without - plan.for_operands, 200 * kib);
}

TEST(MemoryPlan, OfARankThatMayUseAnyAmount) {
  MemoryPlan plan = small_plan();
  plan.share({}, 4);
  EXPECT_TRUE(plan.shared);
  EXPECT_EQ(plan.owned, (250 + 5) * kib);
  EXPECT_EQ(plan.for_operands, std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(plan.threads, 8);
}

TEST(MemoryPlan, OfARankReducesItsThreads) {
  // 255 KiB are owned; each thread needs 15 more.
  MemoryPlan plan = small_plan();
  plan.share(on_host(255 + 3 * 15 + 14), 4);
  EXPECT_EQ(plan.threads, 3);
  EXPECT_EQ(plan.for_operands, (255 + 3 * 5 + 14) * kib);
  plan = small_plan();
  expect_failure<UsageError>([&] { plan.share(on_host(255 + 14), 4); },
                             "This rank, one of 4, stores up to 255.0 KiB of the operands and needs 15.0 KiB to "
                             "compute, but the memory of its host allows 269.0 KiB; use more hosts.");
  plan = limited(255 + 14);
  plan.sums = 1000 * kib;  // nothing is rotated, though less than nothing is left for operands
  expect_failure<UsageError>([&] { plan.share(on_host(1e6), 4); }, "This rank, one of 4, stores");
  plan = limited(255 + 14);
  expect_failure<UsageError>([&] { plan.share(on_host(1e6), 4); }, "but --memory allows 269.0 KiB; allow more");
  // Threads that share a task use the panels of two tasks.
  plan = small_plan();
  RankAssignment assignment = on_host(255 + 8 * 10 + 2 * 5);
  assignment.threads_share_task = true;
  plan.share(assignment, 4);
  EXPECT_EQ(plan.threads, 8);
}

TEST(MemoryPlan, OfARankWithGpusCountsAPanelForEachOfThem) {
  MemoryPlan plan = small_plan();
  plan.scratch_per_thread = 0;
  plan.gpus = 3;
  MemoryPlan narrow = plan;
  plan.share(on_host(255 + 3 * 5), 4);
  EXPECT_EQ(plan.for_operands, (255 + 3 * 5) * kib);
  EXPECT_THROW(narrow.share(on_host(255 + 3 * 5 - 1), 4), UsageError);
}

TEST(MemoryPlan, OfAnIdleRankIsItsPartOnly) {
  MemoryPlan plan = small_plan();
  plan.share(on_host(100, Role::idle), 4);
  EXPECT_EQ(plan.threads, 8);
  EXPECT_EQ(plan.for_operands, (100 + 20) * kib) << "the working memory is free to fill the part";
}

TEST(MemoryPlan, OfARankHasRoomForTheRotation) {
  MemoryPlan plan = small_plan();
  plan.rotated = 400 * kib;
  plan.rotated_of_rank = 100 * kib;
  plan.rotation_peak = 500 * kib;
  MemoryPlan narrow = plan;
  plan.share(on_host(580), 4);
  EXPECT_EQ(plan.for_operands, (580 - 100 - 80) * kib);
  expect_failure<UsageError>([&] { narrow.share(on_host(579), 4); },
                             "Each of 4 ranks needs 500.0 KiB to rotate orbitals, but the memory of its host allows");
}

}
}
