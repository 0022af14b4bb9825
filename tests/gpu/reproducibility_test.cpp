#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <vector>

#include "cxx/calculation/calculation.hpp"
#include "tests/gpu/gpu_test_support.hpp"

/// The energies of a task depend on that task only, to the last bit.
namespace trifuse {
namespace {

using namespace trifuse::testing;

/// Problems of both forms with many tasks of different sizes, and an executor for each kernel.
class SameBits : public OnGpu {
 protected:
  template <typename Function>
  static void for_every_kernel_and_form(Function function) {
    for (const SpinFormulation formulation : {SpinFormulation::spin_orbital, SpinFormulation::spin_adapted}) {
      OwnedProblem owned(closed_shell(6, 15, 2), formulation, formulation == SpinFormulation::spin_orbital);
      owned.problem.quotients = {0.0, 0.1};
      const Plan plan = make_plan(owned.right->tiles().retiled(3, 5), formulation);
      ASSERT_FALSE(plan.tasks.empty());
      ASSERT_FALSE(usable_kernels().empty());
      for (const std::string& kernel : usable_kernels()) {
        SCOPED_TRACE(to_string(formulation) + ", " + kernel);
        const auto executor = make_cuda_executor(owned.problem, plan.tiles, with_kernel(kernel));
        function(*executor, plan, owned.problem);
      }
    }
  }
};

TEST_F(SameBits, AreGivenByEveryRun) {
  for_every_kernel_and_form([](const PanelExecutor& executor, const Plan& plan, const Problem& problem) {
    const auto first = batch_numbers(executor, plan, 2);
    const auto worker = executor.make_worker();
    for (int n = 0; n < 5; ++n) ASSERT_EQ(batch_numbers(*worker, plan.tasks, 2), first) << "run " << n;
    const auto other =
        make_cuda_executor(problem, plan.tiles, with_kernel(executor.device_report()->kernels.front().name));
    EXPECT_EQ(batch_numbers(*other, plan, 2), first);
  });
}

TEST_F(SameBits, AreGivenWhateverStandsBesideATask) {
  for_every_kernel_and_form([](const PanelExecutor& executor, const Plan& plan, const Problem&) {
    const auto together = batch_numbers(executor, plan, 2);
    EXPECT_EQ(task_numbers(executor, plan, 2), together) << "one by one";
    const auto worker = executor.make_worker();
    for (const std::size_t size : {2u, 7u}) {
      std::vector<double> found;
      for (std::size_t first = 0; first < plan.tasks.size(); first += size) {
        const auto batch = std::span(plan.tasks).subspan(first, std::min(size, plan.tasks.size() - first));
        const auto more = batch_numbers(*worker, batch, 2);
        found.insert(found.end(), more.begin(), more.end());
      }
      EXPECT_EQ(found, together) << "batches of " << size;
    }
  });
}

TEST_F(SameBits, AreGivenInAnyOrder) {
  for_every_kernel_and_form([](const PanelExecutor& executor, const Plan& plan, const Problem&) {
    const auto forward = batch_numbers(executor, plan, 2);
    const std::vector<Task> reversed(plan.tasks.rbegin(), plan.tasks.rend());
    const auto backward = batch_numbers(*executor.make_worker(), reversed, 2);
    ASSERT_EQ(backward.size(), forward.size());
    for (std::size_t n = 0; n < forward.size(); ++n) {
      // Each task has eight numbers, four for each omega2.
      ASSERT_EQ(backward[(plan.tasks.size() - 1 - n / 8) * 8 + n % 8], forward[n]) << n;
    }
  });
}

TEST_F(SameBits, AreGivenToWorkersThatWorkAtTheSameTime) {
  for_every_kernel_and_form([](const PanelExecutor& executor, const Plan& plan, const Problem&) {
    const auto alone = batch_numbers(executor, plan, 2);
    for (const auto& numbers : numbers_of_all_workers(executor, plan, 2, 3)) EXPECT_EQ(numbers, alone);
  });
}

TEST_F(SameBits, AreGivenByWholeCalculations) {
  const auto source = make_synthetic_source(closed_shell(6, 15));
  CalculationOptions options = options_for(SpinFormulation::spin_adapted, 4);
  options.executor = ExecutorKind::cuda;
  const auto first = numbers_of(calculate(*source, options));
  EXPECT_EQ(numbers_of(calculate(*source, options)), first);
  options.threads = 3;
  EXPECT_EQ(numbers_of(calculate(*source, options)), first);
}

}
}
