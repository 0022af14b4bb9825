#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

#include "tests/gpu/gpu_test_support.hpp"
#include "tests/gpu/kernels/other_schedules.hpp"
#include "tests/gpu/kernels/random_task.hpp"

/// Kernels with another schedule, and with an epilogue that stores targets instead of energies.
namespace trifuse::gpu {
namespace {

class OtherSchedules : public testing::OnGpu {
 protected:
  void SetUp() override {
    testing::OnGpu::SetUp();
    if (IsSkipped()) return;
    TRIFUSE_CUDA(cudaSetDevice(0));
    TRIFUSE_CUDA(cudaGetDeviceProperties(&device_, 0));
  }
  bool can_run(const Kernel& kernel) const {
    return runs_on(kernel, 100 * device_.major + 10 * device_.minor, static_cast<int>(device_.sharedMemPerBlockOptin));
  }

  /// Compares the targets of a task with sums of products on the host.
  static void expect_targets(const Kernel& kernel) {
    SCOPED_TRACE(kernel.name);
    constexpr double unset = 1e300;
    const std::array<int, 6> extent = {9, 7, 10, 5, 8, 6};
    const RandomTask<> task(SpinFormulation::spin_orbital, extent, 37, 0, 0);
    const std::vector<double> found = task.stored_target(kernel, unset);
    std::size_t n = 0;
    double worst = 0.0;
    std::array<int, 6> e{};
    for (e[0] = 0; e[0] < extent[0]; ++e[0])
      for (e[1] = 0; e[1] < extent[1]; ++e[1])
        for (e[2] = 0; e[2] < extent[2]; ++e[2])
          for (e[3] = 0; e[3] < extent[3]; ++e[3])
            for (e[4] = 0; e[4] < extent[4]; ++e[4])
              for (e[5] = 0; e[5] < extent[5]; ++e[5]) {
                const double difference = std::abs(found[n++] - task.target(e));
                ASSERT_TRUE(std::isfinite(difference));
                worst = std::max(worst, difference);
              }
    // Sums of 9 x 37 products of numbers below 1.
    EXPECT_LT(worst, 1e-12);
  }

  static void expect_same(const std::vector<double>& found, const std::vector<double>& expected) {
    ASSERT_EQ(found.size(), expected.size());
    double largest = 0.0;
    for (const double x : expected) largest = std::max(largest, std::abs(x));
    EXPECT_GT(largest, 0.0);
    for (std::size_t n = 0; n < found.size(); ++n) EXPECT_NEAR(found[n], expected[n], 1e-12 * largest) << "sum " << n;
  }

  cudaDeviceProp device_{};
};

TEST_F(OtherSchedules, GiveTheTargetOfTheTermsWithCooperativeStaging) {
  ASSERT_TRUE(can_run(stored_targets_cooperative()));
  expect_targets(stored_targets_cooperative());
}

TEST_F(OtherSchedules, GiveTheTargetOfTheTermsWithBulkStaging) {
  if (!can_run(stored_targets_bulk())) GTEST_SKIP() << "This needs compute capability 9.0.";
  expect_targets(stored_targets_bulk());
}

// In spin-adapted form equal hole blocks exchange holes between lanes when targets are read.
TEST_F(OtherSchedules, GiveTheEnergiesOfTheStandardSchedule) {
  const auto same_shape = [](const Kernel& kernel) { return kernel.name == "fma-2x2x2"; };
  const auto standard = std::find_if(kernels().begin(), kernels().end(), same_shape);
  ASSERT_NE(standard, kernels().end());
  const Kernel reversed = reversed_energies();
  ASSERT_TRUE(can_run(reversed));
  for (const SpinFormulation formulation : {SpinFormulation::spin_orbital, SpinFormulation::spin_adapted}) {
    for (const int equal_holes : {0, 1, 2, 3}) {
      for (const int equal_particles : {0, 3}) {
        SCOPED_TRACE(to_string(formulation) + ", equal holes " + std::to_string(equal_holes) + ", equal particles " +
                     std::to_string(equal_particles));
        const RandomTask<> task(formulation, {5, 5, 5, 6, 6, 6}, 21, equal_particles, equal_holes);
        expect_same(task.energies(reversed), task.energies(*standard));
      }
    }
  }
}

}
}
