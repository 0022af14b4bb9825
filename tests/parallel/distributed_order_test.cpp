#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "cxx/parallel/dynamic_scheduler.hpp"
#include "cxx/parallel/run_tasks.hpp"
#include "cxx/parallel/task_run.hpp"
#include "cxx/plan/task_order.hpp"
#include "tests/support/calculations.hpp"
#include "tests/support/made_up_executor.hpp"
#include "tests/support/molecules.hpp"
#include "tests/support/thread_communicator.hpp"

/// The order in which several ranks get the tasks of a plan.
namespace trifuse::testing {
namespace {

TaskEnergy energy_of(const Task& task) {
  const double x = task.particles[0] + 10 * task.particles[1] + 100 * task.particles[2] + 1000 * task.holes[0];
  return TaskEnergy{{1.0 / x, 2.0 / x}, {3.0 / x, 4.0 / x}};
}

/// An executor that wants tasks in blocks and records the tasks of its batches.
class BlockExecutor final : public Executor {
 public:
  explicit BlockExecutor(int block) : block_(block) {}

  std::string name() const override { return "made-up"; }
  std::unique_ptr<Worker> make_worker() const override { return executor_.make_worker(); }
  int workers() const override { return 1; }
  int particle_group() const override { return block_; }
  std::vector<std::vector<std::size_t>> batches(const Plan& plan, const std::vector<bool>& finished) const override {
    std::vector<std::vector<std::size_t>> single;
    for (std::size_t task = 0; task < plan.tasks.size(); ++task) {
      if (finished[task]) continue;
      single.push_back({task});
      received_.push_back(plan.tasks[task]);
    }
    return single;
  }
  /// The tasks in the order in which the run gave them.
  const std::vector<Task>& received() const { return received_; }

 private:
  int block_;
  MadeUpExecutor executor_{energy_of};
  mutable std::vector<Task> received_;
};

class RanksInBlocks : public ::testing::Test {
 protected:
  std::unique_ptr<TileSource> source = make_synthetic_source(closed_shell(6, 24));
  Plan plan = make_plan(source->tiles().retiled(3, 3), SpinFormulation::spin_adapted);

  /// Runs the plan on ranks whose executors want blocks of these sizes. Expects the energies of one process, and that
  /// each rank gets its tasks in the order of the work chunks of blocks of size `chosen`.
  void expect_order(const std::vector<int>& blocks, int chosen) {
    const std::vector<double> expected = numbers_of(run_tasks(plan, MadeUpExecutor(energy_of), 1, {}).energies);
    const Plan ordered = part_of(plan, grouped_order(plan.tasks, plan.tiles, chosen));
    std::vector<Task> order;
    for (const WorkChunk& chunk : make_work_chunks(ordered, static_cast<int>(blocks.size()))) {
      order.insert(order.end(), ordered.tasks.begin() + static_cast<std::ptrdiff_t>(chunk.first),
                   ordered.tasks.begin() + static_cast<std::ptrdiff_t>(chunk.last));
    }
    std::vector<std::size_t> received(blocks.size());
    const auto failures = failures_of_ranks(static_cast<int>(blocks.size()), [&](Communicator& communicator) {
      const auto rank = static_cast<std::size_t>(communicator.rank());
      const BlockExecutor executor(blocks[rank]);
      RunSettings settings;
      settings.communicator = &communicator;
      settings.assignment.rate = 1.0;
      EXPECT_EQ(numbers_of(run_tasks(plan, executor, 1, settings).energies), expected);
      auto next = order.begin();
      for (const Task& task : executor.received()) {
        next = std::find_if(next, order.end(), [&](const Task& other) {
          return other.particles == task.particles && other.holes == task.holes;
        });
        ASSERT_NE(next, order.end()) << "A task of rank " << rank << " comes too late.";
      }
      received[rank] = executor.received().size();
    });
    EXPECT_EQ(failures, std::vector<std::string>(blocks.size()));
    EXPECT_EQ(std::accumulate(received.begin(), received.end(), std::size_t{0}), plan.tasks.size());
  }
};

TEST_F(RanksInBlocks, GetTheOrderOfTheSmallestBlocks) {
  expect_order({2, 2}, 2);
  expect_order({3, 2, 0}, 2);
  expect_order({0, 5, 4}, 4);
}

TEST_F(RanksInBlocks, GetTheOrderOfThePlanIfNoneWantsBlocks) {
  expect_order({0, 0}, 0);
}

}
}
