#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cxx/base/error.hpp"
#include "cxx/calculation/calculation.hpp"
#include "cxx/cpu/cpu_executor.hpp"
#include "cxx/plan/plan.hpp"
#include "cxx/triples/problem.hpp"
#include "tests/gpu/gpu_test_support.hpp"
#include "tests/support/refusals.hpp"

/// Budgets of device memory, and options that are refused.
namespace trifuse {
namespace {

using namespace trifuse::testing;

class LittleDeviceMemory : public OnGpu {
 protected:
  /// Problems of both forms, whose panels are many times larger than the smallest budget.
  static std::vector<OwnedProblem> problems() {
    std::vector<OwnedProblem> problems;
    problems.emplace_back(closed_shell(8, 40), SpinFormulation::spin_adapted);
    problems.emplace_back(open_shell(Reference::uhf, {7, 6, 24, 20}, 2), SpinFormulation::spin_orbital, true);
    return problems;
  }
  static std::vector<double> cpu_numbers(const Problem& problem, const Plan& plan) {
    return batch_numbers(*make_cpu_executor(problem, plan.tiles), plan, problem.quotients.size());
  }
};

// All workers of the executor compete for the memory of the panels. None of them may wait for ever.
TEST_F(LittleDeviceMemory, LetsPanelsComeAndGo) {
  for (const OwnedProblem& owned : problems()) {
    SCOPED_TRACE(to_string(owned.problem.formulation));
    // Orbital tiles that need not be cut.
    const Plan plan = make_plan(owned.right->tiles().retiled(4, 4), owned.problem.formulation);
    const auto expected = cpu_numbers(owned.problem, plan);
    const std::int64_t least = least_budget(owned.problem, plan.tiles);
    for (const int more : {0, 1, 3}) {
      SCOPED_TRACE(std::to_string(more) + " MiB more than needed");
      const auto executor = make_cuda_executor(owned.problem, plan.tiles, with_memory(least + more * mebibyte));
      for (const auto& found : numbers_of_all_workers(*executor, plan, 1)) expect_same_energies(found, expected, 1);
      const DeviceReport report = *executor->device_report();
      EXPECT_TRUE(more > 0 || report.panels_evicted > 0);
      EXPECT_LE(report.panels_evicted, report.panels_sent);
      EXPECT_LE(report.panels_sent, report.panels_wanted);
      EXPECT_LE(report.bytes_resident, report.memory_budget);
      EXPECT_EQ(report.memory_budget, least + more * mebibyte);
    }
  }
}

TEST_F(LittleDeviceMemory, DividesTasksIntoSubtasks) {
  for (const OwnedProblem& owned : problems()) {
    SCOPED_TRACE(to_string(owned.problem.formulation));
    // One orbital tile for each kind, spin and irrep: far too large for the smallest budget.
    const Plan plan = make_plan(owned.right->tiles().retiled(40, 40), owned.problem.formulation);
    const auto expected = cpu_numbers(owned.problem, plan);
    const std::int64_t least = least_budget(owned.problem, plan.tiles);
    for (const int more : {0, 5, 20}) {
      SCOPED_TRACE(std::to_string(more) + " MiB more than needed");
      const auto executor = make_cuda_executor(owned.problem, plan.tiles, with_memory(least + more * mebibyte));
      for (const auto& found : numbers_of_all_workers(*executor, plan, 1)) expect_same_energies(found, expected, 1);
    }
  }
}

// Each omega2 has sums of its own, which are hundreds of megabytes here.
TEST_F(LittleDeviceMemory, HasRoomForManyOmega2) {
  constexpr int omega2_count = 3000;
  OwnedProblem owned(closed_shell(6, 24), SpinFormulation::spin_adapted);
  const Plan plan = make_plan(owned.right->tiles().retiled(8, 24), owned.problem.formulation);
  for (int n = 1; n < omega2_count; ++n) owned.problem.quotients.push_back(1e-3 * n);
  const auto expected = cpu_numbers(owned.problem, plan);
  const std::int64_t least = least_budget(owned.problem, plan.tiles);
  const auto executor = make_cuda_executor(owned.problem, plan.tiles, with_memory(least));
  const std::int64_t before = executor->device_report()->peak_bytes;
  for (const auto& found : numbers_of_all_workers(*executor, plan, omega2_count)) {
    expect_same_energies(found, expected, omega2_count);
  }
  EXPECT_LE(executor->device_report()->peak_bytes, std::max(before, least));
}

TEST_F(LittleDeviceMemory, IsEnoughForAWholeCalculation) {
  const auto source = make_synthetic_source(closed_shell(8, 40));
  CalculationOptions options = options_for(SpinFormulation::spin_adapted);
  const auto expected = numbers_of(calculate(*source, options));
  options.executor = ExecutorKind::cuda;
  const Calculation roomy(*source, nullptr, options);
  options.memory = least_budget(roomy.problem(), roomy.plan().tiles);
  EXPECT_LT(relative_difference(numbers_of(calculate(*source, options)), expected), 1e-12);
}

TEST_F(LittleDeviceMemory, IsRefusedWhereNoTaskFits) {
  for (const OwnedProblem& owned : problems()) {
    for (const std::int64_t bytes : {std::int64_t{1}, 16 * mebibyte, 64 * mebibyte}) {
      expect_failure<UsageError>([&] { make_cuda_executor(owned.problem, owned.right->tiles(), with_memory(bytes)); },
                                 "allow more --memory");
    }
  }
}

TEST_F(LittleDeviceMemory, IsNoneWhereMoreIsAskedThanThereIs) {
  const OwnedProblem owned(closed_shell(4, 6), SpinFormulation::spin_adapted);
  const Plan plan = make_plan(owned.right->tiles(), SpinFormulation::spin_adapted);
  const auto executor = make_cuda_executor(owned.problem, plan.tiles, with_memory(std::int64_t{1} << 50));
  EXPECT_LT(executor->device_report()->memory_budget, visible_devices().front().total_memory);
  expect_same_energies(batch_numbers(*executor, plan, 1), cpu_numbers(owned.problem, plan), 1);
}

class RefusedCudaOptions : public OnGpu {
 protected:
  static void expect_refusal(const CudaOptions& options, const std::string& part) {
    const OwnedProblem owned(closed_shell(3, 4), SpinFormulation::spin_adapted);
    expect_failure<UsageError>([&] { make_cuda_executor(owned.problem, owned.right->tiles(), options); }, part);
  }
};

TEST_F(RefusedCudaOptions, NameAKernelThatDoesNotExist) {
  expect_refusal(with_kernel("nonsense"), "\"nonsense\"");
  // The message lists the kernels that exist.
  ASSERT_FALSE(usable_kernels().empty());
  for (const std::string& kernel : usable_kernels()) expect_refusal(with_kernel("nonsense"), kernel);
}

TEST_F(RefusedCudaOptions, NameADeviceThatDoesNotExist) {
  const int count = static_cast<int>(visible_devices().size());
  for (const int number : {-1, count, 1000}) {
    CudaOptions options;
    options.devices = {number};
    expect_refusal(options, "no GPU " + std::to_string(number));
    options.devices = {0, number};
    expect_refusal(options, "no GPU " + std::to_string(number));
  }
  CudaOptions none;
  none.devices.clear();
  expect_refusal(none, "No GPU was named");
}

}
}
