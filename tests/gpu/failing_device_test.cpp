#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "cxx/calculation/calculation.hpp"
#include "cxx/calculation/state.hpp"
#include "tests/gpu/gpu_test_support.hpp"
#include "tests/support/broken_device.hpp"
#include "tests/support/calculations.hpp"

/// A GPU that fails in the middle of a run.
namespace trifuse::testing {
namespace {

/// Computes with GPUs, of which the last one fails after the first task. Exits with 0 if the result is right and the
/// failure was reported. CUDA may give up all GPUs of a process in which one has failed, so cores compute the rest.
/// `devices`: numbers of the GPUs. `source`: the molecule.
[[noreturn]] void compute_with_failing_device(const TileSource& source, const std::vector<int>& devices) {
  const std::vector<double> expected =
      numbers_of(Calculation(source, nullptr, {}, {.plan_for = ExecutorKind::cuda}).run());
  CalculationOptions options;
  options.executor = ExecutorKind::cuda;
  options.devices = devices;
  options.devices_required = true;  // concerns the start of the run only
  // When the first batch ends, which holds up the other workers until the GPU is broken, many batches are left.
  options.tile_size = 12;
  const Calculation calculation(source, nullptr, options);
  std::atomic<int> code{-2};
  std::atomic<bool> begun{false};
  int warnings = 0;
  const CalculationResult found = calculation.run(
      nullptr,
      [&](const RunProgress&) {
        if (!begun.exchange(true)) code = break_device(devices.back());
      },
      [&](const std::string& warning) {
        std::fprintf(stderr, "%s\n", warning.c_str());
        ++warnings;
      });
  const double difference = relative_difference(numbers_of(found), expected);
  std::fprintf(stderr, "trap %d, %d warnings, difference %.2e\n", code.load(), warnings, difference);
  const bool good = code == 0 && warnings == 1 && found.warnings.size() == 1 && found.ranks.at(0).device_failed &&
                    difference <= 1e-12;
  std::exit(good ? 0 : 1);
}

class FailingDevice : public OnGpu {};

// The tests run in processes of their own, which lose their GPU.
TEST_F(FailingDevice, LeavesTheRestOfARunToCores) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto source = make_synthetic_source(closed_shell(14, 90));
  EXPECT_EXIT(compute_with_failing_device(*source, {0}), ::testing::ExitedWithCode(0), "trap 0, 1 warnings");
}

// Two GPUs of a process own a half of the slabs of factors each and copy the others.
TEST_F(FailingDevice, LeavesTheSlabsOfAnotherOneToCores) {
  if (visible_devices().size() < 2) GTEST_SKIP() << "there are not two GPUs here";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  SyntheticMolecule molecule = closed_shell(16, 100);
  molecule.auxiliary = 250;
  const auto source = make_synthetic_source(molecule);
  EXPECT_EXIT(compute_with_failing_device(*source, {0, 1}), ::testing::ExitedWithCode(0), "trap 0, 1 warnings");
}

}
}
