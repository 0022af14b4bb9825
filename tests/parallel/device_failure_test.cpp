#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "cxx/parallel/journal.hpp"
#include "cxx/parallel/run_tasks.hpp"
#include "tests/parallel/finished_tasks.hpp"
#include "tests/support/calculations.hpp"
#include "tests/support/failing_executor.hpp"
#include "tests/support/molecules.hpp"
#include "tests/support/refusals.hpp"
#include "tests/support/thread_communicator.hpp"
#include "tests/tce_tiles/nwchem_test_data.hpp"

/// Made-up GPUs that fail in the middle of a run.
namespace trifuse::testing {
namespace {

using Role = RankAssignment::Role;

/// Runs in which each task must be executed exactly once in spite of failures.
class DeviceFailure : public ::testing::Test {
 protected:
  std::unique_ptr<TileSource> source = make_synthetic_source(closed_shell(5, 8, 2));
  Plan plan = make_plan(source->tiles().retiled(2, 2), SpinFormulation::spin_orbital);
  std::atomic<std::size_t> executed{0}, fallbacks{0};
  std::mutex mutex;
  std::vector<std::string> warnings;
  MadeUpExecutor::Action action = [this](const Task& task) {
    ++executed;
    const double x = task.particles[0] + 10 * task.particles[1] + 100 * task.particles[2] + 1000 * task.holes[0];
    return TaskEnergy{{1.0 / x, 2.0 / x}, {3.0 / x, 4.0 / x}};
  };
  int last_batch = static_cast<int>(plan.tasks.size()) - 1;

  RunSettings settings(int threads, Communicator* communicator = nullptr) {
    RunSettings chosen;
    chosen.threads = threads;
    chosen.threads_on_cores = 2;
    chosen.communicator = communicator;
    chosen.on_cores = [this] {
      ++fallbacks;
      return std::make_unique<MadeUpExecutor>(action);
    };
    chosen.warn = [this](const std::string& warning) {
      const std::lock_guard lock(mutex);
      warnings.push_back(warning);
    };
    return chosen;
  }
  std::vector<double> expected() {
    const std::vector<double> numbers = numbers_of(run_tasks(plan, MadeUpExecutor(action), 1, {}).energies);
    executed = 0;
    return numbers;
  }
  JournalKey key() const { return {{1, 2}, {{2, 2}, false}, plan.tasks.size(), 1}; }
};

/// A device that fails for ever after this number of batches has begun.
FailingExecutor::Fails from_batch(int first) {
  return [first, dead = std::make_shared<std::atomic<bool>>(false)](int, int batch) {
    if (batch >= first) *dead = true;
    return dead->load();
  };
}

TEST_F(DeviceFailure, AtAnyBatchLeavesTheRestToCores) {
  const auto wanted = expected();
  for (const int threads : {1, 3}) {
    for (const int first : {0, 1, last_batch / 2, last_batch}) {
      SCOPED_TRACE(std::to_string(threads) + " threads, batch " + std::to_string(first));
      executed = fallbacks = 0;
      warnings.clear();
      const FailingExecutor executor(action, from_batch(first));
      const RunOutcome outcome = run_tasks(plan, executor, 1, settings(threads));
      EXPECT_EQ(numbers_of(outcome.energies), wanted);
      EXPECT_EQ(executed, plan.tasks.size());
      EXPECT_EQ(outcome.operations, static_cast<double>(plan.tasks.size()));
      EXPECT_EQ(fallbacks, 1u);
      ASSERT_EQ(warnings.size(), 1u);
      EXPECT_NE(warnings[0].find("tasks: GPU 0 fell off the bus."), std::string::npos) << warnings[0];
      EXPECT_EQ(outcome.warnings, warnings);
      EXPECT_TRUE(outcome.ranks.at(0).device_failed);
    }
  }
}

TEST_F(DeviceFailure, BeforeTheFirstBatchLeavesAllTasksToCores) {
  const auto wanted = expected();
  const FailingExecutor executor(
      action, [](int, int) { return true; }, 4);
  EXPECT_EQ(numbers_of(run_tasks(plan, executor, 1, settings(1)).energies), wanted);
  EXPECT_EQ(executor.failures(), 4);
  EXPECT_EQ(fallbacks, 1u);
  EXPECT_EQ(warnings.size(), 1u);
}

TEST_F(DeviceFailure, WithoutAnExecutorLeavesAllTasksToCores) {
  const auto wanted = expected();
  RunSettings chosen = settings(1);
  chosen.failed_device = "GPU 0 gives wrong numbers.";
  const RunOutcome outcome = run_tasks(plan, nullptr, 1, chosen);
  EXPECT_EQ(numbers_of(outcome.energies), wanted);
  ASSERT_EQ(outcome.warnings.size(), 1u);
  EXPECT_NE(outcome.warnings[0].find("gives wrong numbers"), std::string::npos);
}

TEST_F(DeviceFailure, OfOneOfSeveralLeavesItsTasksToTheOthers) {
  const auto wanted = expected();
  for (const int first : {-1, 0, last_batch / 2}) {
    executed = 0;
    std::atomic<bool> failed{false};
    const FailingExecutor executor(
        action,
        [&](int worker, int batch) {
          if (batch < first) return false;
          if (worker == 1) failed = true;
          // The other workers wait, so that the failing worker gets a batch.
          while (!failed) std::this_thread::sleep_for(std::chrono::milliseconds(1));
          return worker == 1;
        },
        3);
    const RunOutcome outcome = run_tasks(plan, executor, 1, settings(1));
    EXPECT_EQ(numbers_of(outcome.energies), wanted);
    EXPECT_EQ(executed, plan.tasks.size());
    EXPECT_EQ(executor.failures(), 1);
    EXPECT_EQ(outcome.warnings.size(), 1u);
  }
  EXPECT_EQ(fallbacks, 0u);
}

TEST_F(DeviceFailure, InTheLastBatchLeavesItToWaitingWorkers) {
  const auto wanted = expected();
  // The other worker finishes all other batches long before the first worker fails.
  std::atomic<bool> first{true};
  const FailingExecutor executor(
      action,
      [&](int, int batch) {
        if (batch < 0 || !first.exchange(false)) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(300));
        return true;
      },
      2);
  EXPECT_EQ(numbers_of(run_tasks(plan, executor, 1, settings(1)).energies), wanted);
  EXPECT_EQ(executor.failures(), 1);
  EXPECT_EQ(fallbacks, 0u);
}

TEST_F(DeviceFailure, EndsTheRunWithoutAReplacement) {
  const FailingExecutor executor(action, from_batch(5));
  RunSettings chosen = settings(3);
  chosen.on_cores = {};
  expect_failure<DeviceError>([&] { run_tasks(plan, executor, 1, chosen); }, "GPU 0 fell off the bus.");
  EXPECT_TRUE(warnings.empty());
  chosen.on_cores = [&]() -> std::unique_ptr<Executor> { throw SystemError("There is no memory."); };
  expect_failure<SystemError>([&] { run_tasks(plan, executor, 1, chosen); }, "There is no memory.");
  chosen.on_cores = [&] { return std::make_unique<FailingExecutor>(action, from_batch(0)); };
  expect_failure<DeviceError>([&] { run_tasks(plan, executor, 1, chosen); }, "GPU 0 fell off the bus.");
}

TEST_F(DeviceFailure, IsNotAssumedForNonFiniteEnergies) {
  const MadeUpExecutor executor([](const Task&) {
    TaskEnergy energy;
    energy.same.e_bracket_t = std::numeric_limits<double>::quiet_NaN();
    return energy;
  });
  expect_failure<Error>([&] { run_tasks(plan, executor, 1, settings(2)); }, "has no finite energy");
  EXPECT_EQ(fallbacks, 0u);
}

TEST_F(DeviceFailure, KeepsTheJournalUsable) {
  const auto wanted = expected();
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "journal").string();
  {
    Journal journal(path, key());
    RunSettings chosen = settings(2);
    chosen.journal = &journal;
    const FailingExecutor executor(action, from_batch(last_batch / 3));
    EXPECT_EQ(numbers_of(run_tasks(plan, executor, 1, chosen).energies), wanted);
  }
  Journal journal(path, key());
  std::map<WorkerKind, std::size_t> tasks_by;
  for (std::size_t task = 0; task < plan.tasks.size(); ++task) {
    ASSERT_TRUE(journal.finished(task));
    ++tasks_by[journal.by(task)];
  }
  EXPECT_GE(tasks_by[WorkerKind::cuda], plan.tasks.size() / 3 - 2);
  EXPECT_GT(tasks_by[WorkerKind::other], plan.tasks.size() / 2);
}

class DistributedDeviceFailure : public DeviceFailure {
 protected:
  /// Runs all tasks on three ranks. The devices of the ranks in `failing` fail from a batch on.
  void expect_all_done(const std::vector<int>& failing, int first, const std::vector<double>& wanted) {
    SCOPED_TRACE("batch " + std::to_string(first) + " of " + std::to_string(failing.size()) + " ranks");
    executed = fallbacks = 0;
    const auto failures = failures_of_ranks(3, [&](Communicator& communicator) {
      const bool fails = std::find(failing.begin(), failing.end(), communicator.rank()) != failing.end();
      const FailingExecutor executor(
          action, fails ? from_batch(first) : [](int, int) { return false; });
      RunSettings chosen = settings(2, &communicator);
      chosen.assignment = {.role = Role::worker, .rate = 1.0, .threads = 2, .rate_on_cores = 0.1};
      const RunOutcome outcome = run_tasks(plan, executor, 1, chosen);
      EXPECT_EQ(numbers_of(outcome.energies), wanted);
      // A rank must get this many batches before its device can fail.
      std::size_t failed = 0, tasks = 0;
      for (const RankWork& rank : outcome.ranks) {
        failed += rank.device_failed ? 1 : 0;
        tasks += rank.tasks;
      }
      EXPECT_EQ(tasks, plan.tasks.size());
      EXPECT_EQ(outcome.warnings.size(), failed);
      if (first < 0) {
        EXPECT_EQ(failed, failing.size());
      }
    });
    EXPECT_EQ(failures, std::vector<std::string>(3));
    EXPECT_EQ(executed, plan.tasks.size());
  }
};

TEST_F(DistributedDeviceFailure, LeavesItsTasksToAllRanks) {
  const auto wanted = expected();
  for (const int first : {-1, 0, 1, 20, last_batch / 3}) {
    expect_all_done({1}, first, wanted);
    expect_all_done({0, 2}, first, wanted);
    expect_all_done({0, 1, 2}, first, wanted);
  }
}

TEST_F(DistributedDeviceFailure, OfTheOnlyGpuLeavesAllTasksToCpuWorkers) {
  const auto wanted = expected();
  for (const bool at_once : {true, false}) {
    executed = 0;
    const auto failures = failures_of_ranks(3, [&](Communicator& communicator) {
      RunSettings chosen = settings(1, &communicator);
      chosen.assignment = {.role = Role::cpu_worker, .rate = 1.0, .threads = 1};
      const FailingExecutor gpu(action, from_batch(3));
      const MadeUpExecutor cores(action);
      const Executor* executor = &cores;
      if (communicator.rank() == 0) {
        chosen.assignment = {.role = Role::worker, .rate = 1e6, .threads = 1, .rate_on_cores = 1.0};
        executor = at_once ? nullptr : static_cast<const Executor*>(&gpu);
        if (at_once) chosen.failed_device = "GPU 0 gives wrong numbers.";
      }
      const RunOutcome outcome = run_tasks(plan, executor, {1, {{"array", 5}}}, chosen);
      EXPECT_EQ(numbers_of(outcome.energies), wanted);
      EXPECT_EQ(outcome.sums.at(0), MadeUpExecutor::sum_of(plan, 5));
      EXPECT_TRUE(outcome.ranks.at(0).device_failed);
      ASSERT_EQ(outcome.warnings.size(), 1u);
      EXPECT_NE(outcome.warnings[0].find("A GPU of rank 0 is no longer used"), std::string::npos)
          << outcome.warnings[0];
    });
    EXPECT_EQ(failures, std::vector<std::string>(3));
    EXPECT_EQ(executed, plan.tasks.size());
  }
}

TEST_F(DistributedDeviceFailure, EndsAllRanksWithoutAReplacement) {
  const auto failures = failures_of_ranks(3, [&](Communicator& communicator) {
    RunSettings chosen = settings(1, &communicator);
    chosen.on_cores = {};
    const FailingExecutor executor(
        action, communicator.rank() == 1 ? from_batch(-1) : [](int, int) { return false; });
    run_tasks(plan, executor, 1, chosen);
  });
  EXPECT_EQ(failures, (std::vector<std::string>{"Rank 1 failed: GPU 0 fell off the bus.", "GPU 0 fell off the bus.",
                                                "Rank 1 failed: GPU 0 fell off the bus."}));
}

TEST_F(DistributedDeviceFailure, KeepsTheJournalUsable) {
  const auto wanted = expected();
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "journal").string();
  const auto failures = failures_of_ranks(3, [&](Communicator& communicator) {
    Journal journal(path, key(), &communicator);
    RunSettings chosen = settings(2, &communicator);
    chosen.journal = &journal;
    const FailingExecutor executor(
        action, communicator.rank() == 2 ? from_batch(4) : [](int, int) { return false; });
    EXPECT_EQ(numbers_of(run_tasks(plan, executor, 1, chosen).energies), wanted);
  });
  EXPECT_EQ(failures, std::vector<std::string>(3));
  EXPECT_EQ(executed, plan.tasks.size());
  EXPECT_EQ(finished_tasks(Journal(path, key()), plan.tasks.size()), plan.tasks.size());
}

}
}
