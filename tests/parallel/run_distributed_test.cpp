#include "cxx/parallel/run_tasks.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>

#include "cxx/base/error.hpp"
#include "tests/support/made_up_executor.hpp"
#include "tests/support/molecules.hpp"
#include "tests/support/thread_communicator.hpp"

namespace trifuse::testing {
namespace {

using Role = RankAssignment::Role;

class DistributedTasks : public ::testing::Test {
 protected:
  std::unique_ptr<TileSource> source = make_synthetic_source(closed_shell(5, 8, 2));
  Plan plan = make_plan(source->tiles().retiled(2, 2), SpinFormulation::spin_orbital);

  RunOutcome run(Communicator& communicator, const Executor* executor, RankAssignment assignment = {},
                 int threads = 2) const {
    RunSettings settings;
    settings.threads = threads;
    settings.communicator = &communicator;
    settings.assignment = assignment;
    return run_tasks(plan, executor, 1, settings);
  }
};

TEST_F(DistributedTasks, ExecutesEveryTaskOnceAndAddsUpOperations) {
  std::atomic<std::size_t> calls{0};
  const auto failures = failures_of_ranks(3, [&](Communicator& communicator) {
    const auto action = [&](const Task& task) {
      ++calls;
      return TaskEnergy{{1.0 * task.particles[0], 2.0}, {3.0, 4.0}};
    };
    const MadeUpExecutor executor(action, {.of_worker = 1.0, .of_task = 0.0});
    const RunOutcome outcome = run(communicator, &executor);
    ASSERT_EQ(outcome.energies.size(), plan.tasks.size());
    for (std::size_t n = 0; n < plan.tasks.size(); ++n) {
      EXPECT_EQ(outcome.energies[n].same.e_bracket_t, plan.tasks[n].particles[0]);
      EXPECT_EQ(outcome.energies[n].mixed.e_paren_t, 4.0);
    }
    EXPECT_EQ(outcome.operations, 6.0);  // two workers on each of three ranks
  });
  EXPECT_EQ(failures, std::vector<std::string>(3));
  EXPECT_EQ(calls, plan.tasks.size());
}

TEST_F(DistributedTasks, EndsOnAllRanksIfOneFails) {
  const auto failures = failures_of_ranks(3, [&](Communicator& communicator) {
    const MadeUpExecutor executor([&](const Task&) -> TaskEnergy {
      if (communicator.rank() == 2) throw SystemError("GPU 0 fell off the bus.");
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      return {};
    });
    run(communicator, &executor);
  });
  EXPECT_EQ(failures, (std::vector<std::string>{"Rank 2 failed: GPU 0 fell off the bus.",
                                                "Rank 2 failed: GPU 0 fell off the bus.", "GPU 0 fell off the bus."}));
}

TEST_F(DistributedTasks, ReportsTheProgressOfAllRanks) {
  const auto failures = failures_of_ranks(2, [&](Communicator& communicator) {
    const MadeUpExecutor executor([](const Task&) { return TaskEnergy{}; });
    RunProgress last{};
    RunSettings settings;
    settings.communicator = &communicator;
    settings.progress = [&](const RunProgress& now) {
      EXPECT_GE(now.tasks_done, last.tasks_done);
      EXPECT_GE(now.operations_done, last.operations_done);
      last = now;
    };
    if (communicator.rank() == 0) run_tasks(plan, &executor, 1, settings);
    // Rank 1 is idle, so rank 0 gets all chunks. Its last progress report comes before its last chunk.
    if (communicator.rank() == 1) return static_cast<void>(run(communicator, nullptr, {.role = Role::idle}));
    EXPECT_EQ(last.tasks, plan.tasks.size());
    EXPECT_GT(last.tasks_done, plan.tasks.size() / 2);
    EXPECT_LT(last.tasks_done, plan.tasks.size());
    EXPECT_GT(last.operations_done, 0.5 * plan.total_operations);
    EXPECT_LT(last.operations_done, plan.total_operations);
  });
  EXPECT_EQ(failures, std::vector<std::string>(2));
}

TEST_F(DistributedTasks, FailsIfNoRankWorks) {
  const auto failures =
      failures_of_ranks(2, [&](Communicator& communicator) { run(communicator, nullptr, {.role = Role::idle}); });
  for (const std::string& failure : failures) EXPECT_NE(failure.find("computed 0 of"), std::string::npos) << failure;
}

TEST_F(DistributedTasks, StopsOnAllRanksWhenOneIsAskedTo) {
  const std::atomic<bool> stop{true};
  const auto failures = failures_of_ranks(2, [&](Communicator& communicator) {
    const MadeUpExecutor executor([](const Task&) { return TaskEnergy{}; });
    RunSettings settings;
    settings.communicator = &communicator;
    if (communicator.rank() == 0) settings.stop = &stop;
    run_tasks(plan, executor, 1, settings);
  });
  EXPECT_NE(failures[0].find("Stopped before all "), std::string::npos) << failures[0];
  EXPECT_NE(failures[1].find("Rank 0 failed: Stopped before"), std::string::npos) << failures[1];
}

}
}
