#include "cxx/parallel/ranks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <deque>
#include <string>
#include <vector>

#include "cxx/base/clock.hpp"
#include "cxx/base/error.hpp"
#include "tests/support/environment_variable.hpp"
#include "tests/support/refusals.hpp"
#include "tests/support/thread_communicator.hpp"

namespace trifuse::testing {
namespace {

using Role = RankAssignment::Role;
constexpr double gib = 0x1p30;

RankResources on_cores(const std::string& host, const std::string& cores, int count) {
  RankResources rank;
  rank.host = host;
  rank.cores = cores;
  rank.core_count = count;
  rank.memory = 100 * gib;
  rank.core_rate = 1e10;
  rank.operand_bytes = gib;
  return rank;
}

RankResources with_gpu(const std::string& host, const std::string& identity) {
  RankResources rank = on_cores(host, "0-15", 16);
  rank.gpu = "NVIDIA H200";
  rank.gpu_label = identity;
  rank.gpu_identity = identity;
  rank.gpu_rate = 30e12;
  return rank;
}

std::vector<Role> roles(const std::vector<RankAssignment>& assignments) {
  std::vector<Role> found;
  for (const RankAssignment& assignment : assignments) found.push_back(assignment.role);
  return found;
}

TEST(RankResources, OfThisProcessArePlausible) {
  const RankResources mine = resources_of_this_process();
  EXPECT_FALSE(mine.host.empty());
  EXPECT_FALSE(mine.cores.empty());
  EXPECT_GE(mine.core_count, 1);
  EXPECT_GT(mine.memory, 1e6);
  EXPECT_GT(mine.core_rate, 1e7);
  EXPECT_LT(mine.core_rate, 1e13);
}

TEST(RankResources, AreGathered) {
  const auto failures = failures_of_ranks(3, [](Communicator& communicator) {
    RankResources mine = on_cores("node" + std::to_string(communicator.rank()), "0-3,8-11", 8);
    mine.threads_asked = communicator.rank();
    mine.working_bytes = 0.5 * gib;
    if (communicator.rank() == 1) mine.gpu = "NVIDIA H200";
    const auto all = allgather(communicator, mine);
    ASSERT_EQ(all.size(), 3u);
    EXPECT_EQ(all[2].host, "node2");
    EXPECT_EQ(all[2].cores, "0-3,8-11");
    EXPECT_EQ(all[2].core_count, 8);
    EXPECT_EQ(all[2].threads_asked, 2);
    EXPECT_EQ(all[2].memory, 100 * gib);
    EXPECT_EQ(all[2].operand_bytes, gib);
    EXPECT_EQ(all[1].working_bytes, 0.5 * gib);
    EXPECT_EQ(all[1].gpu, "NVIDIA H200");
    EXPECT_EQ(all[0].gpu, "");
  });
  EXPECT_EQ(failures, std::vector<std::string>(3));
}

TEST(ThreadsOfEach, AreAnEvenShareOfTheCoresUnlessAskedFor) {
  for (const char* asked : {static_cast<const char*>(nullptr), "5"}) {
    const EnvironmentVariable variable("OMP_NUM_THREADS", asked);
    const int cores = resources_of_this_process().core_count;
    const auto failures = failures_of_ranks(3, [&](Communicator& communicator) {
      EXPECT_EQ(threads_of_each(communicator), asked != nullptr ? 5 : std::max(1, cores / 3));
    });
    EXPECT_EQ(failures, std::vector<std::string>(3));
  }
}

/// Removes the variables of launchers during a test and restores them afterwards.
class RankOnHostByLauncher : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* variable : variables) absent_.emplace_back(variable, nullptr);
  }

  static constexpr std::array variables = {"OMPI_COMM_WORLD_LOCAL_RANK",
                                           "MPI_LOCALRANKID",
                                           "MV2_COMM_WORLD_LOCAL_RANK",
                                           "PALS_LOCAL_RANKID",
                                           "PMI_LOCAL_RANK",
                                           "SLURM_STEP_NUM_TASKS",
                                           "SLURM_LOCALID"};

 private:
  std::deque<EnvironmentVariable> absent_;
};

TEST_F(RankOnHostByLauncher, IsWhatTheLauncherSays) {
  EXPECT_EQ(rank_on_host_by_launcher(), std::nullopt);
  for (const char* variable : variables) {
    if (std::string(variable).starts_with("SLURM")) continue;
    setenv(variable, "3", 1);
    EXPECT_EQ(rank_on_host_by_launcher(), 3) << variable;
    setenv(variable, "", 1);
    EXPECT_EQ(rank_on_host_by_launcher(), std::nullopt) << variable;
    unsetenv(variable);
  }
}

TEST_F(RankOnHostByLauncher, IsFromSlurmIfSlurmStartedTheRanks) {
  setenv("SLURM_LOCALID", "0", 1);  // as in a batch script
  EXPECT_EQ(rank_on_host_by_launcher(), std::nullopt);
  setenv("SLURM_STEP_NUM_TASKS", "4", 1);
  setenv("SLURM_LOCALID", "2", 1);
  EXPECT_EQ(rank_on_host_by_launcher(), 2);
  setenv("OMPI_COMM_WORLD_LOCAL_RANK", "1", 1);  // mpirun within a step
  EXPECT_EQ(rank_on_host_by_launcher(), 1);
}

TEST(GpuName, TellsGpusOfOneHostApart) {
  std::vector<RankResources> ranks = {with_gpu("a", "GPU-8932f937-d72c"), with_gpu("a", "GPU-5d3c1a2b-0000"),
                                      with_gpu("b", "GPU-00000000-0000")};
  for (RankResources& rank : ranks) rank.gpu_label = "0";
  EXPECT_EQ(gpu_name(ranks, ranks[0]), "0, GPU-8932f937");
  EXPECT_EQ(gpu_name(ranks, ranks[1]), "0, GPU-5d3c1a2b");
  EXPECT_EQ(gpu_name(ranks, ranks[2]), "0");
}

TEST(SharersOfGpu, AreRanksOfOneHostWithOneGpu) {
  const std::vector<RankResources> ranks = {with_gpu("a", "0"), with_gpu("a", "1"), with_gpu("a", "0"),
                                            with_gpu("b", "0"), on_cores("a", "0-3", 4)};
  EXPECT_EQ(ranks_on_gpu(ranks, 0), 2);
  EXPECT_EQ(ranks_on_gpu(ranks, 1), 1);
  EXPECT_EQ(ranks_on_gpu(ranks, 3), 1);
  EXPECT_EQ(ranks_on_gpu(ranks, 4), 0);
}

TEST(AssignWork, WithoutGpusAllWorkAndShareTheirCores) {
  const auto assignments =
      assign_work({on_cores("a", "0-7", 8), on_cores("a", "0-7", 8), on_cores("b", "0-7", 8)}, 1e12);
  EXPECT_EQ(roles(assignments), (std::vector<Role>{Role::worker, Role::worker, Role::worker}));
  EXPECT_EQ(assignments[0].threads, 4);
  EXPECT_EQ(assignments[1].threads, 4);
  EXPECT_EQ(assignments[2].threads, 8);
  EXPECT_DOUBLE_EQ(assignments[0].rate, 4e10);
  EXPECT_DOUBLE_EQ(assignments[2].total_rate, 16e10);
}

TEST(AssignWork, LeavesCoresAsTheLauncherBoundThemAndTheUsersThreads) {
  RankResources asked = on_cores("a", "4-7", 4);
  asked.threads_asked = 2;
  const auto assignments = assign_work({on_cores("a", "0-3", 4), asked}, 1e12);
  EXPECT_EQ(assignments[0].threads, 4);
  EXPECT_EQ(assignments[1].threads, 2);
}

TEST(AssignWork, LetsWorkAsManyRanksAsTheMemoryOfTheirHostHolds) {
  std::vector<RankResources> ranks(4, on_cores("a", "0-7", 8));
  for (RankResources& rank : ranks) rank.operand_bytes = 40 * gib;
  const auto assignments = assign_work(ranks, 1e15);
  EXPECT_EQ(roles(assignments), (std::vector<Role>{Role::worker, Role::worker, Role::idle, Role::idle}));
  EXPECT_EQ(assignments[0].threads, 4);  // idle ranks need no cores
  for (RankResources& rank : ranks) rank.operand_bytes = 400 * gib;
  expect_failure<UsageError>([&] { assign_work(ranks, 1e15); }, "take 400 GiB for each rank");
}

TEST(AssignWork, BesideGpusCoresAreIdleInShortJobs) {
  const std::vector<RankResources> ranks = {with_gpu("a", "0"), on_cores("a", "0-15", 16), on_cores("a", "0-15", 16)};
  const auto assignments = assign_work(ranks, 1e13);
  EXPECT_EQ(roles(assignments), (std::vector<Role>{Role::worker, Role::idle, Role::idle}));
  EXPECT_DOUBLE_EQ(assignments[0].total_rate, 30e12);
  EXPECT_EQ(assignments[0].threads, 16);  // idle ranks need no cores
}

TEST(AssignWork, BesideGpusCoresHelpInLongJobs) {
  std::vector<RankResources> ranks = {with_gpu("a", "0"), on_cores("a", "0-15", 16), on_cores("a", "0-15", 16)};
  const auto assignments = assign_work(ranks, 1e17);
  EXPECT_EQ(roles(assignments), (std::vector<Role>{Role::worker, Role::cpu_worker, Role::cpu_worker}));
  EXPECT_EQ(assignments[1].threads, 6);
  EXPECT_DOUBLE_EQ(assignments[0].total_rate, 30e12 + 12e10);
  // A rank does not help if the host has no memory for its operands beside the operands of the rank with the GPU.
  for (RankResources& rank : ranks) rank.operand_bytes = 20 * gib;
  EXPECT_EQ(roles(assign_work(ranks, 1e19)), (std::vector<Role>{Role::worker, Role::cpu_worker, Role::idle}));
}

TEST(AssignWorkWithSharedOperands, NeedsRoomForOperandPartsAndWorkingMemory) {
  std::vector<RankResources> ranks(4, on_cores("a", "0-7", 8));
  for (RankResources& rank : ranks) {
    rank.operand_bytes = 40 * gib;
    rank.working_bytes = 2 * gib;
  }
  // All ranks work, because 90 GiB suffice for shared operands of 40 GiB and 2 GiB for each rank. Only two ranks could
  // store operands of their own.
  const auto assignments = assign_work(ranks, 1e15, OperandStorage::shared);
  EXPECT_EQ(roles(assignments), std::vector<Role>(4, Role::worker));
  for (const RankAssignment& assignment : assignments) EXPECT_DOUBLE_EQ(assignment.memory, 90.0 / 4 * gib);
  // Operands have precedence over working memory.
  for (RankResources& rank : ranks) rank.operand_bytes = 85 * gib;
  EXPECT_EQ(roles(assign_work(ranks, 1e15, OperandStorage::shared)),
            (std::vector<Role>{Role::worker, Role::worker, Role::idle, Role::idle}));
  EXPECT_DOUBLE_EQ(assign_work(ranks, 1e15, OperandStorage::shared)[0].memory, (85.0 / 4 + 5.0 / 2) * gib);
  EXPECT_DOUBLE_EQ(assign_work(ranks, 1e15, OperandStorage::shared)[3].memory, 85.0 / 4 * gib);
  for (RankResources& rank : ranks) rank.operand_bytes = 100 * gib;
  expect_failure<UsageError>([&] { assign_work(ranks, 1e15, OperandStorage::shared); }, "take 100 GiB in all");
  // With another host of the same kind, each host stores half of the operands.
  ranks.insert(ranks.end(), 4, on_cores("b", "0-7", 8));
  for (RankResources& rank : ranks) rank.operand_bytes = 100 * gib;
  EXPECT_EQ(roles(assign_work(ranks, 1e15, OperandStorage::shared)), std::vector<Role>(8, Role::worker));
  // A host that is too small for its operands cannot take part at all.
  for (std::size_t r = 4; r < 8; ++r) ranks[r].memory = 40 * gib;
  expect_failure<UsageError>([&] { assign_work(ranks, 1e15, OperandStorage::shared); },
                             "The 4 ranks on the host b need 50.00 GiB");
}

TEST(AssignWorkWithSharedOperands, LetsCoresHelpGpusAlsoInShortJobs) {
  std::vector<RankResources> ranks = {with_gpu("a", "0"), on_cores("a", "0-15", 16), on_cores("a", "0-15", 16),
                                      on_cores("a", "0-15", 16)};
  for (RankResources& rank : ranks) {
    rank.operand_bytes = 40 * gib;
    rank.working_bytes = 3 * gib;
  }
  // A host allows 50 GiB: 40 GiB for operands, and 3 GiB for each of three ranks that compute.
  const auto assignments = assign_work(ranks, 1e13, OperandStorage::shared);
  EXPECT_EQ(roles(assignments), (std::vector<Role>{Role::worker, Role::cpu_worker, Role::cpu_worker, Role::idle}));
  EXPECT_DOUBLE_EQ(assignments[0].memory, (40.0 + 10.0 / 3) * gib);
  EXPECT_DOUBLE_EQ(assignments[1].memory, 10.0 / 3 * gib);
  EXPECT_DOUBLE_EQ(assignments[3].memory, 0.0);
  EXPECT_EQ(assignments[1].threads, 6);
  EXPECT_TRUE(assignments[1].threads_share_task);
  EXPECT_FALSE(assignments[0].threads_share_task);
}

TEST(AssignWorkWithSharedOperands, StoresThemOnRanksWithGpusIfTheHostHasGpus) {
  const std::vector<RankResources> ranks = {
      with_gpu("a", "0"),      on_cores("a", "0-15", 16), with_gpu("a", "1"), on_cores("a", "0-15", 16),
      on_cores("b", "0-7", 8), on_cores("b", "0-7", 8),   with_gpu("c", "0")};
  const auto assignments = assign_work(ranks, 1e15, OperandStorage::shared);
  const std::vector<double> expected = {2.0, 0.0, 2.0, 0.0, 1.0, 1.0, 1.0};
  const std::vector<int> segments = {4, 0, 4, 0, 4, 4, 1};
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    EXPECT_EQ(assignments[r].operands.share, expected[r]) << r;
    EXPECT_EQ(assignments[r].operands.segments, segments[r]) << r;
    EXPECT_GE(assignments[r].memory, expected[r] / 7 * gib) << r;
  }
  // The four ranks of the first host share its cores. Two of these ranks read operands.
  EXPECT_EQ(assignments[0].threads, 4);
  EXPECT_EQ(assignments[0].reading_threads, 8);
  EXPECT_EQ(assignments[4].reading_threads, assignments[4].threads);
  EXPECT_EQ(assignments[6].reading_threads, 16);
  // The other two ranks have the cores that the ranks with GPUs do not use.
  EXPECT_EQ(assignments[1].threads, 4);
}

TEST(AssignWorkWithSharedOperands, IsQuickWithManyRanks) {
  std::vector<RankResources> ranks;
  for (int host = 0; host < 5000; ++host) {
    for (int rank = 0; rank < 20; ++rank) {
      const std::string name = "node" + std::to_string(host);
      ranks.push_back(rank < 4 ? with_gpu(name, std::to_string(rank)) : on_cores(name, "0-15", 16));
    }
  }
  const double begin = wall_seconds();
  const auto assignments = assign_work(ranks, 1e20, OperandStorage::shared);
  EXPECT_LT(wall_seconds() - begin, 10.0);
  EXPECT_EQ(assignments.back().role, Role::cpu_worker);
  EXPECT_DOUBLE_EQ(assignments.front().operands.share, 5.0);
}

TEST(AssignWork, HalvesTheRateOfRanksWithOneGpu) {
  const auto assignments = assign_work({with_gpu("a", "0"), with_gpu("a", "0"), with_gpu("a", "1")}, 1e15);
  EXPECT_DOUBLE_EQ(assignments[0].rate, 15e12);
  EXPECT_DOUBLE_EQ(assignments[2].rate, 30e12);
  EXPECT_DOUBLE_EQ(assignments[2].total_rate, 60e12);
}

}
}
