#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <future>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cxx/base/error.hpp"
#include "cxx/cuda/runtime/cuda_executor.hpp"
#include "cxx/cuda/runtime/devices.hpp"
#include "cxx/cuda/runtime/kernel_bench.hpp"
#include "cxx/plan/executor_report.hpp"
#include "cxx/plan/plan.hpp"
#include "tests/support/problems.hpp"

/// Support for tests that need a GPU. Without one they are skipped and say why.
namespace trifuse::testing {

/// `Base`: a fixture of GoogleTest.
template <typename Base>
class SkippedWithoutGpu : public Base {
 protected:
  void SetUp() override {
    if (visible_devices().empty()) GTEST_SKIP() << why_no_devices();
  }
};
using OnGpu = SkippedWithoutGpu<::testing::Test>;
using OnGpuForMolecule = SkippedWithoutGpu<::testing::TestWithParam<NamedMolecule>>;
using OnGpuForDump = SkippedWithoutGpu<::testing::TestWithParam<std::string>>;

inline CudaOptions with_kernel(const std::string& kernel, Precision precision = Precision::fp64) {
  CudaOptions options;
  options.kernel = kernel;
  options.precision = precision;
  return options;
}

/// Returns the names of the kernels that compute derivatives.
inline std::vector<std::string> kernels_with_seeds() {
  std::vector<std::string> names = usable_kernels();
  std::erase_if(names, [](const std::string& name) { return !name.starts_with("bulk-"); });
  return names;
}
/// A fixture of tests with derivatives.
template <typename Base>
class SkippedWithoutHopper : public SkippedWithoutGpu<Base> {
 protected:
  void SetUp() override {
    SkippedWithoutGpu<Base>::SetUp();
    if (!this->IsSkipped() && kernels_with_seeds().empty()) GTEST_SKIP() << "needs compute capability 9.0";
  }
};

inline constexpr std::int64_t mebibyte = std::int64_t{1} << 20;
inline CudaOptions with_memory(std::int64_t bytes) {
  CudaOptions options;
  options.memory_per_device = bytes;
  return options;
}

/// The least budget in bytes, rounded up to a mebibyte, with which an executor can be made: the buffers, and the panels
/// of one task in the smallest tiles.
inline std::int64_t least_budget(const Problem& problem, const TileSpace& tiles) {
  std::int64_t refused = 16, enough = 4096;
  while (enough - refused > 1) {
    const std::int64_t middle = (refused + enough) / 2;
    try {
      make_cuda_executor(problem, tiles, with_memory(middle * mebibyte));
      enough = middle;
    } catch (const UsageError&) {
      refused = middle;
    }
  }
  return enough * mebibyte;
}

/// The largest error of energies relative to the size of their terms. In mixed precision the elements of a target have
/// errors of 2.5e-7 of their root mean square, and are too small by 2e-7, so a sum of their squares is too small by
/// 4e-7. The limit is ten times as large, because a task of a small molecule has few elements, and its terms cancel.
inline double tolerance_of(Precision precision) {
  return precision == Precision::mixed ? 5e-6 : 1e-12;
}

/// Compares energies [task, omega2, number], task by task. The difference is relative to the largest number of the task
/// plus 1e-4 of the largest number of all tasks (a tenth in mixed precision): if the terms of a task cancel, its own
/// digits cannot be trusted.
inline void expect_same_energies(const std::vector<double>& found, const std::vector<double>& expected,
                                 std::size_t omega2_values, Precision precision = Precision::fp64) {
  const double tolerance = tolerance_of(precision), of_the_largest = precision == Precision::mixed ? 0.1 : 1e-4;
  ASSERT_FALSE(expected.empty());
  ASSERT_EQ(found.size(), expected.size());
  const auto largest = [](auto begin, auto end) {
    double most = 0.0;
    for (; begin != end; ++begin) most = std::max(most, std::abs(*begin));
    return most;
  };
  const double largest_of_all = largest(expected.begin(), expected.end());
  const std::size_t per_task = 4 * omega2_values;
  double worst = 0.0;
  std::size_t worst_task = 0;
  for (std::size_t first = 0; first < expected.size(); first += per_task) {
    const auto begin = expected.begin() + static_cast<std::ptrdiff_t>(first);
    const double scale =
        largest(begin, begin + static_cast<std::ptrdiff_t>(per_task)) + of_the_largest * largest_of_all;
    for (std::size_t n = first; n < first + per_task; ++n) {
      ASSERT_TRUE(std::isfinite(found[n])) << "task " << first / per_task << ", number " << n - first;
      const double difference = std::abs(found[n] - expected[n]);
      if (difference == 0.0) continue;
      // If all energies are zero, any difference is wrong.
      const double relative = scale > 0.0 ? difference / scale : 1.0;
      if (relative <= worst) continue;
      worst = relative;
      worst_task = first / per_task;
    }
  }
  EXPECT_LE(worst, tolerance) << "task " << worst_task << " of " << expected.size() / per_task;
}

/// The energies of all tasks of a plan, executed together.
inline std::vector<double> batch_numbers(Executor::Worker& worker, std::span<const Task> tasks,
                                         std::size_t omega2_values) {
  std::vector<TaskEnergy> energies(tasks.size() * omega2_values);
  worker.execute(tasks, energies);
  return numbers_of(energies);
}
inline std::vector<double> batch_numbers(const Executor& executor, const Plan& plan, std::size_t omega2_values) {
  return batch_numbers(*executor.make_worker(), plan.tasks, omega2_values);
}

/// The energies that each worker of an executor finds. All workers execute all tasks at the same time, `times` times.
inline std::vector<std::vector<double>> numbers_of_all_workers(const Executor& executor, const Plan& plan,
                                                               std::size_t omega2_values, int times = 1) {
  std::vector<std::future<std::vector<double>>> running;
  for (int n = 0; n < executor.workers(); ++n) {
    running.push_back(std::async(std::launch::async, [&] {
      const auto worker = executor.make_worker();
      for (int before = 1; before < times; ++before) batch_numbers(*worker, plan.tasks, omega2_values);
      return batch_numbers(*worker, plan.tasks, omega2_values);
    }));
  }
  std::vector<std::vector<double>> found;
  for (auto& numbers : running) found.push_back(numbers.get());
  return found;
}

/// Compares every kernel of `kernels` with the executor that `make_expected` makes, for all tasks of these tiles.
inline void expect_agreement(
    const Problem& problem, const TileSpace& tiles, const std::vector<std::string>& kernels,
    const std::function<std::unique_ptr<Executor>(const Problem&, const TileSpace&)>& make_expected,
    Precision precision = Precision::fp64) {
  const Plan plan = make_plan(tiles, problem.formulation);
  ASSERT_FALSE(plan.tasks.empty());
  ASSERT_FALSE(kernels.empty());
  const std::size_t omega2_values = problem.quotients.size();
  const auto expected = batch_numbers(*make_expected(problem, tiles), plan, omega2_values);
  for (const std::string& kernel : kernels) {
    SCOPED_TRACE(kernel);
    const auto executor = make_cuda_executor(problem, tiles, with_kernel(kernel, precision));
    expect_same_energies(batch_numbers(*executor, plan, omega2_values), expected, omega2_values, precision);
  }
}

}
