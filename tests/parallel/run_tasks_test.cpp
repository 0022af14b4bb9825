#include "cxx/parallel/run_tasks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "cxx/base/error.hpp"
#include "cxx/cpu/cpu_executor.hpp"
#include "cxx/parallel/journal.hpp"
#include "tests/parallel/finished_tasks.hpp"
#include "tests/support/calculations.hpp"
#include "tests/support/made_up_executor.hpp"
#include "tests/support/molecules.hpp"
#include "tests/support/refusals.hpp"
#include "tests/tce_tiles/nwchem_test_data.hpp"

namespace trifuse {
namespace {

using namespace trifuse::testing;

TaskEnergy energy_of(const Task& task) {
  const double x = task.particles[0] + 10 * task.particles[1] + 100 * task.particles[2] + 1000 * task.holes[0];
  return {{1.0 / x, 2.0 / x}, {3.0 / x, 4.0 / x}};
}

JournalKey key_of(const Plan& plan, std::size_t energies_per_task) {
  return {{1, 2}, {{2, 2}, false}, plan.tasks.size(), energies_per_task};
}

class TaskRun : public ::testing::TestWithParam<int> {
 protected:
  std::unique_ptr<TileSource> source = make_synthetic_source(closed_shell(5, 8, 2));
  Plan plan = make_plan(source->tiles().retiled(2, 2), SpinFormulation::spin_orbital);

  RunSettings settings() const {
    RunSettings settings;
    settings.threads = GetParam();
    return settings;
  }
  bool is(const Task& task, std::size_t number) const {
    return task.particles == plan.tasks[number].particles && task.holes == plan.tasks[number].holes;
  }
};

TEST_P(TaskRun, ExecutesEveryTaskOnce) {
  std::atomic<std::size_t> calls{0};
  const MadeUpExecutor executor([&](const Task& task) {
    ++calls;
    return energy_of(task);
  });
  const RunOutcome outcome = run_tasks(plan, executor, 2, settings());
  EXPECT_EQ(calls, plan.tasks.size());
  EXPECT_EQ(outcome.operations, static_cast<double>(plan.tasks.size()));
  EXPECT_EQ(outcome.from_journal, 0u);
  ASSERT_EQ(outcome.energies.size(), 2 * plan.tasks.size());
  for (std::size_t n = 0; n < plan.tasks.size(); ++n) {
    const auto expected = std::vector<TaskEnergy>(2, energy_of(plan.tasks[n]));
    EXPECT_EQ(numbers_of(std::span(outcome.energies).subspan(2 * n, 2)), numbers_of(expected));
  }
}

TEST_P(TaskRun, BeginsWithTheMostExpensiveTasks) {
  std::mutex mutex;
  std::vector<double> cost;
  const MadeUpExecutor executor([&](const Task& task) {
    const std::lock_guard lock(mutex);
    for (std::size_t n = 0; n < plan.tasks.size(); ++n) {
      if (is(task, n)) cost.push_back(plan.operations[n]);
    }
    return TaskEnergy{};
  });
  run_tasks(plan, executor, 1, settings());
  ASSERT_EQ(cost.size(), plan.tasks.size());
  // Threads take tasks in this order, but a thread that was interrupted may call this function late.
  if (GetParam() > 1) return;
  EXPECT_GT(cost.front(), cost.back());
  EXPECT_TRUE(std::is_sorted(cost.begin(), cost.end(), std::greater<>()));
}

TEST_P(TaskRun, ReportsProgressThatOnlyGrowsByOneThreadAtATime) {
  RunProgress last{0, 0, 0.0, 0.0};
  std::atomic<int> inside{0};
  std::size_t calls = 0;
  RunSettings chosen = settings();
  chosen.progress = [&](const RunProgress& now) {
    EXPECT_EQ(++inside, 1);
    EXPECT_EQ(now.tasks_done, last.tasks_done + 1);
    EXPECT_GE(now.operations_done, last.operations_done);
    EXPECT_EQ(now.tasks, plan.tasks.size());
    EXPECT_EQ(now.operations, plan.total_operations);
    last = now;
    ++calls;
    --inside;
  };
  run_tasks(plan, MadeUpExecutor(energy_of), 1, chosen);
  EXPECT_EQ(calls, plan.tasks.size());
  EXPECT_DOUBLE_EQ(last.operations_done, plan.total_operations);
}

TEST_P(TaskRun, PassesOnWhatAWorkerThrew) {
  const MadeUpExecutor executor([&](const Task& task) {
    if (is(task, 7)) throw InputError("The file has a hole.");
    return energy_of(task);
  });
  expect_failure<InputError>([&] { run_tasks(plan, executor, 1, settings()); }, "The file has a hole.");
}

TEST_P(TaskRun, PassesOnWhatPreventedAWorker) {
  class NoWorkers final : public Executor {
   public:
    std::string name() const override { return "none"; }
    std::unique_ptr<Worker> make_worker() const override { throw std::bad_alloc(); }
  };
  EXPECT_THROW(run_tasks(plan, NoWorkers(), 1, settings()), std::bad_alloc);
}

TEST_P(TaskRun, RefusesAnEnergyThatIsNoNumber) {
  for (const double bad : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    const MadeUpExecutor executor([&](const Task& task) {
      return is(task, 3) ? TaskEnergy{{0.0, 0.0}, {0.0, bad}} : energy_of(task);
    });
    const auto& tiles = plan.tasks[3].particles;
    expect_failure<Error>([&] { run_tasks(plan, executor, 1, settings()); },
                          "particle tiles " + std::to_string(tiles[0] + 1));
  }
}

TEST_P(TaskRun, StopsWhenAsked) {
  std::atomic<bool> stop{true};
  std::atomic<std::size_t> calls{0};
  const MadeUpExecutor executor([&](const Task& task) {
    if (++calls == 10) stop = true;
    return energy_of(task);
  });
  RunSettings chosen = settings();
  chosen.stop = &stop;
  expect_failure<Interrupted>([&] { run_tasks(plan, executor, 1, chosen); }, "Stopped after 0 of ");
  EXPECT_EQ(calls, 0u);
  stop = false;
  expect_failure<Interrupted>([&] { run_tasks(plan, executor, 1, chosen); }, "nothing was saved");
  EXPECT_LT(calls, plan.tasks.size());
}

TEST_P(TaskRun, ResumesFromAJournalToTheSameBits) {
  Problem problem;
  problem.right = source.get();
  problem.quotients = {0.0, 0.1};
  const auto executor = make_cpu_executor(problem, plan.tiles);
  const auto expected = numbers_of(run_tasks(plan, *executor, 2, settings()).energies);
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "journal").string();
  std::size_t stops = 0, before = 0;
  for (;; ++stops) {
    Journal journal(path, key_of(plan, 2));
    const std::size_t finished = finished_tasks(journal, plan.tasks.size());
    EXPECT_GE(finished, before);
    before = finished;
    std::atomic<bool> stop{false};
    RunSettings chosen = settings();
    chosen.journal = &journal;
    chosen.stop = &stop;
    chosen.progress = [&](const RunProgress& now) { stop = now.tasks_done >= before + plan.tasks.size() / 4; };
    try {
      const RunOutcome outcome = run_tasks(plan, *executor, 2, chosen);
      EXPECT_EQ(numbers_of(outcome.energies), expected);
      EXPECT_EQ(outcome.from_journal, before);
      break;
    } catch (const Interrupted& message) {
      EXPECT_NE(std::string(message.what()).find("resumes from the journal " + path), std::string::npos);
    }
  }
  EXPECT_GT(stops, 1u);
}

TEST_P(TaskRun, ExecutesNothingWhenTheJournalHasEverything) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "journal").string();
  RunSettings chosen = settings();
  std::vector<double> expected;
  {
    Journal journal(path, key_of(plan, 1));
    chosen.journal = &journal;
    expected = numbers_of(run_tasks(plan, MadeUpExecutor(energy_of), 1, chosen).energies);
  }
  Journal journal(path, key_of(plan, 1));
  chosen.journal = &journal;
  const MadeUpExecutor idle([](const Task&) -> TaskEnergy { throw Error("There was nothing to do."); });
  const RunOutcome outcome = run_tasks(plan, idle, 1, chosen);
  EXPECT_EQ(outcome.from_journal, plan.tasks.size());
  EXPECT_EQ(numbers_of(outcome.energies), expected);
}

TEST_P(TaskRun, AddsUpArrays) {
  const ResultShape shape(1, {{"small", 3}, {"large", 1000}});
  const RunOutcome outcome = run_tasks(plan, MadeUpExecutor(energy_of), shape, settings());
  ASSERT_EQ(outcome.sums.size(), 2u);
  EXPECT_EQ(outcome.sums[0], MadeUpExecutor::sum_of(plan, 3));
  EXPECT_EQ(outcome.sums[1], MadeUpExecutor::sum_of(plan, 1000));
}

TEST_P(TaskRun, LeavesALargeArrayWhereItIsUnlessItIsStored) {
  const ResultShape shape(1, {{"large", 1000}, {"small", 3}});
  MadeUpExecutor executor(energy_of);
  executor.keep_sums(MadeUpExecutor::FirstArray::stays);
  const RunOutcome outcome = run_tasks(plan, executor, shape, settings());
  ASSERT_EQ(outcome.sums.size(), 2u);
  EXPECT_TRUE(outcome.sums[0].empty());
  EXPECT_EQ(outcome.sums[1], MadeUpExecutor::sum_of(plan, 3));
  ASSERT_NE(outcome.first_array, nullptr);
  const CompleteSums::Piece whole[] = {{0, 0, {1, 1, 1, 1000}, {0, 0, 0, 1}, {0, 0, 0, 1}, 1.0}};
  outcome.first_array->read(whole, 1000, [&](std::span<const double> values) {
    const auto expected = MadeUpExecutor::sum_of(plan, 1000);
    EXPECT_TRUE(std::equal(values.begin(), values.end(), expected.begin(), expected.end(),
                           [](double value, std::int64_t sum) { return value == static_cast<double>(sum); }));
  });
  const TemporaryFolder folder;
  Journal journal((folder.path() / "journal").string(), key_of(plan, 1));
  RunSettings chosen = settings();
  chosen.journal = &journal;
  const RunOutcome stored = run_tasks(plan, executor, shape, chosen);
  EXPECT_EQ(stored.first_array, nullptr);
  EXPECT_EQ(stored.sums[0], MadeUpExecutor::sum_of(plan, 1000));
}

TEST_P(TaskRun, OfNoTasksIsDone) {
  const Plan nothing = make_plan(make_synthetic_source(closed_shell(1, 3))->tiles(), SpinFormulation::spin_orbital);
  EXPECT_TRUE(run_tasks(nothing, MadeUpExecutor(energy_of), 1, settings()).energies.empty());
}

/// An executor with given batches and a given number of workers.
class BatchExecutor final : public Executor {
 public:
  using Batches = std::vector<std::vector<std::size_t>>;
  explicit BatchExecutor(std::function<Batches(const std::vector<bool>&)> batches, int its_workers = 0)
      : batches_(std::move(batches)), workers_(its_workers) {}
  std::string name() const override { return "batches"; }
  std::unique_ptr<Worker> make_worker() const override {
    class BatchWorker final : public Worker {
     public:
      explicit BatchWorker(const BatchExecutor& executor) : executor_(executor) {}
      void execute(std::span<const Task> tasks, const TaskResults& results) override {
        const std::span<TaskEnergy> energies = results.energies;
        for (std::size_t n = 0; n < tasks.size(); ++n) energies[n] = energy_of(tasks[n]);
        const std::lock_guard lock(executor_.mutex_);
        executor_.sizes.push_back(tasks.size());
      }

     private:
      const BatchExecutor& executor_;
    };
    const std::lock_guard lock(mutex_);
    ++workers_made;
    return std::make_unique<BatchWorker>(*this);
  }
  Batches batches(const Plan&, const std::vector<bool>& finished) const override { return batches_(finished); }
  int workers() const override { return workers_; }

  mutable std::vector<std::size_t> sizes;  ///< sizes of batches in the order of their execution
  mutable int workers_made = 0;

 private:
  mutable std::mutex mutex_;
  std::function<Batches(const std::vector<bool>&)> batches_;
  int workers_;
};

/// Up to four tasks in each batch, the last task first.
BatchExecutor::Batches fours(const std::vector<bool>& finished) {
  BatchExecutor::Batches batches;
  for (std::size_t n = finished.size(); n-- > 0;) {
    if (finished[n]) continue;
    if (batches.empty() || batches.back().size() == 4) batches.emplace_back();
    batches.back().push_back(n);
  }
  return batches;
}

TEST_P(TaskRun, HandsOutTheBatchesThatAnExecutorWants) {
  const BatchExecutor executor(fours);
  const RunOutcome outcome = run_tasks(plan, executor, 1, settings());
  EXPECT_EQ(numbers_of(outcome.energies),
            numbers_of(run_tasks(plan, MadeUpExecutor(energy_of), 1, settings()).energies));
  EXPECT_EQ(executor.sizes.size(), (plan.tasks.size() + 3) / 4);
  EXPECT_EQ(executor.workers_made, GetParam());
}

TEST_P(TaskRun, HasAsManyWorkersAsTheExecutorWants) {
  for (const int wanted : {1, 2, 5}) {
    const BatchExecutor executor(fours, wanted);
    run_tasks(plan, executor, 1, settings());
    EXPECT_EQ(executor.workers_made, wanted);
  }
}

TEST_P(TaskRun, JournalsTheTasksOfABatchOneByOne) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "journal").string();
  RunSettings chosen = settings();
  std::atomic<bool> stop{false};
  chosen.stop = &stop;
  chosen.progress = [&](const RunProgress&) { stop = true; };
  std::size_t kept = 0;
  {
    Journal journal(path, key_of(plan, 1));
    chosen.journal = &journal;
    EXPECT_THROW(run_tasks(plan, BatchExecutor(fours), 1, chosen), Interrupted);
  }
  Journal journal(path, key_of(plan, 1));
  kept = finished_tasks(journal, plan.tasks.size());
  EXPECT_GE(kept, 4u);
  EXPECT_LT(kept, plan.tasks.size());
  chosen = settings();
  chosen.journal = &journal;
  const RunOutcome outcome = run_tasks(plan, BatchExecutor(fours), 1, chosen);
  EXPECT_EQ(outcome.from_journal, kept);
  EXPECT_EQ(numbers_of(outcome.energies),
            numbers_of(run_tasks(plan, MadeUpExecutor(energy_of), 1, settings()).energies));
}

TEST_P(TaskRun, RefusesBatchesThatAreNotThePlan) {
  const auto refuse = [&](auto change, const std::string& part) {
    const BatchExecutor executor([&](const std::vector<bool>& finished) {
      auto batches = fours(finished);
      change(batches);
      return batches;
    });
    expect_failure<Error>([&] { run_tasks(plan, executor, 1, settings()); }, part);
    EXPECT_TRUE(executor.sizes.empty());
  };
  refuse([](auto& batches) { batches.pop_back(); }, "left out a task");
  refuse([](auto& batches) { batches.push_back({0}); }, "a task twice");
  refuse([&](auto& batches) { batches.push_back({plan.tasks.size()}); }, "a task that does not exist");
}

INSTANTIATE_TEST_SUITE_P(On, TaskRun, ::testing::Values(1, 2, 3), [](const auto& test) {
  return std::to_string(test.param) + (test.param == 1 ? "_thread" : "_threads");
});

}
}
