#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "cxx/calculation/calculation.hpp"
#include "tests/gpu/gpu_test_support.hpp"
#include "tests/support/broken_device.hpp"
#include "tests/support/calculations.hpp"

/// A GPU that really fails in the middle of a run.
namespace trifuse::testing {
namespace {

/// Computes with a GPU that fails after the first task, and leaves the process; 0 if all went as it should.
[[noreturn]] void compute_with_failing_device() {
  const auto source = make_synthetic_source(closed_shell(14, 90));
  CalculationOptions options;
  options.executor = ExecutorKind::cuda;
  options.devices = {0};
  options.devices_required = true;  // which speaks of the beginning only
  const Calculation calculation(*source, nullptr, options);
  std::atomic<int> code{-2};
  int warnings = 0;
  const CalculationResult found = calculation.run(
      nullptr,
      [&](const RunProgress&) {
        if (code == -2) code = break_device(0);
      },
      [&](const std::string& warning) {
        std::fprintf(stderr, "%s\n", warning.c_str());
        ++warnings;
      });
  options = {};
  options.plan_for = ExecutorKind::cuda;
  const double difference = relative_difference(numbers_of(found), numbers_of(calculate(*source, options)));
  std::fprintf(stderr, "trap %d, %d warnings, difference %.2e\n", code.load(), warnings, difference);
  const bool good = code == 0 && warnings == 1 && found.warnings.size() == 1 && found.ranks.at(0).device_failed &&
                    difference <= 1e-12;
  std::exit(good ? 0 : 1);
}

class FailingDevice : public OnGpu {};

// In a process of its own, whose GPU is lost to it.
TEST_F(FailingDevice, LeavesTheRestOfARunToCores) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(compute_with_failing_device(), ::testing::ExitedWithCode(0), "trap 0, 1 warnings");
}

}  // namespace
}  // namespace trifuse::testing
