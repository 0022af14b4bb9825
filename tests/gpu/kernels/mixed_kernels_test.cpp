#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "cxx/cuda/schedule/split_half_units.hpp"
#include "tests/gpu/gpu_test_support.hpp"
#include "tests/gpu/kernels/mixed_targets.hpp"
#include "tests/gpu/kernels/random_task.hpp"

/// Kernels in mixed precision on single tasks with random operands: the elements of their targets, and energies.
namespace trifuse::gpu {
namespace {

class MixedKernelsOnGpu : public testing::OnGpu {
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
  /// The kernels of this precision that the device can run.
  std::vector<const Kernel*> in(Precision precision) const {
    std::vector<const Kernel*> usable;
    for (const Kernel& kernel : kernels()) {
      if (kernel.precision() == precision && can_run(kernel)) usable.push_back(&kernel);
    }
    return usable;
  }

  /// Compares the elements of a target with sums of products on the host. `Packed`: the precision of the kernel.
  /// `vanishing`: see RandomTask::let_vanish().
  template <typename Packed>
  static void expect_targets(const Kernel& kernel, int contracted, double left_size, double right_size,
                             unsigned vanishing = 0) {
    SCOPED_TRACE(kernel.name + ", " + std::to_string(contracted) + " contracted indices, sizes " +
                 std::to_string(left_size) + " and " + std::to_string(right_size));
    const std::array<int, 6> extent = {9, 7, 10, 5, 8, 6};
    RandomTask<Packed> task(SpinFormulation::spin_orbital, extent, contracted, 0, 0, left_size, right_size);
    task.let_vanish(vanishing);
    const std::vector<double> found = task.stored_target(kernel, 1e300);
    std::size_t n = 0;
    double worst = 0.0, error_squares = 0.0, squares = 0.0;
    std::array<int, 6> e{};
    for (e[0] = 0; e[0] < extent[0]; ++e[0])
      for (e[1] = 0; e[1] < extent[1]; ++e[1])
        for (e[2] = 0; e[2] < extent[2]; ++e[2])
          for (e[3] = 0; e[3] < extent[3]; ++e[3])
            for (e[4] = 0; e[4] < extent[4]; ++e[4])
              for (e[5] = 0; e[5] < extent[5]; ++e[5]) {
                const double expected = task.target(e), difference = std::abs(found[n++] - expected);
                ASSERT_TRUE(std::isfinite(difference));
                worst = std::max(worst, difference);
                squares += expected * expected;
                error_squares += difference * difference;
              }
    const double size = std::sqrt(squares / static_cast<double>(n));
    RecordProperty("worst", std::to_string(worst / size));
    // The sums of a scale group are cut off to 24 bits after each instruction, and rounded to 24 bits when they are
    // added: a few units of 2^-24 of the largest element, which is some five times as large as the root mean square.
    EXPECT_LE(std::sqrt(error_squares / static_cast<double>(n)), 5e-7 * size);
    EXPECT_LE(worst, 4e-6 * size);
    // The operands were not doubles.
    EXPECT_TRUE(left_size * right_size == 0.0 || worst > 1e-10 * size);
  }
  template <typename Packed>
  void expect_targets_of(const Kernel& kernel) const {
    if (!can_run(kernel)) GTEST_SKIP() << "This needs another compute capability.";
    for (const int contracted : {1, 15, 16, 33, 64, 65, 150}) expect_targets<Packed>(kernel, contracted, 1.0, 1.0);
    for (const auto& [left, right] : {std::array{0.0, 1.0},
                                      {0.0, 0.0},
                                      {1e-30, 1.0},
                                      {1.0, 1e-30},
                                      {1e3, 1e3},
                                      {1e-30, 1e3},
                                      {1e-12, 1e-15},
                                      {1e15, 1e15}}) {
      expect_targets<Packed>(kernel, 70, left, right);
    }
    for (const unsigned vanishing : {0b000000001u, 0b100010000u, 0b011101111u}) {
      expect_targets<Packed>(kernel, 70, 1.0, 1.0, vanishing);
    }
  }

  cudaDeviceProp device_{};
};

TEST_F(MixedKernelsOnGpu, GiveTheTargetWithBulkStaging) {
  expect_targets_of<SplitHalfUnits>(mixed_targets_bulk());
}
TEST_F(MixedKernelsOnGpu, GiveTheTargetWithCooperativeStaging) {
  expect_targets_of<SplitHalf>(mixed_targets_cooperative());
}

// Ragged extents, odd numbers of k-steps, k-tiles and scale groups that are not full, and coinciding tiles.
TEST_F(MixedKernelsOnGpu, GiveTheEnergiesOfKernelsInDoublePrecision) {
  ASSERT_FALSE(in(Precision::mixed).empty());
  const Kernel& in_doubles = *in(Precision::fp64).front();
  for (const SpinFormulation formulation : {SpinFormulation::spin_orbital, SpinFormulation::spin_adapted}) {
    for (const int contracted : {5, 48, 130}) {
      for (const int equal : {0, 1, 2, 3}) {
        const std::array<int, 6> extent = equal == 0 ? std::array{5, 7, 6, 6, 5, 9} : std::array{6, 6, 6, 7, 7, 7};
        const auto expected = RandomTask<Fp64>(formulation, extent, contracted, equal, equal).energies(in_doubles);
        const RandomTask<SplitHalf> of_fragments(formulation, extent, contracted, equal, equal);
        const RandomTask<SplitHalfUnits> of_blocks(formulation, extent, contracted, equal, equal);
        double largest = 0.0;
        for (const double x : expected) largest = std::max(largest, std::abs(x));
        EXPECT_GT(largest, 0.0);
        for (const Kernel* kernel : in(Precision::mixed)) {
          SCOPED_TRACE(to_string(formulation) + ", " + kernel->name + ", " + std::to_string(contracted) +
                       " contracted indices, equal tiles " + std::to_string(equal));
          const auto energies = [&] {
            return kernel->shape.format == format_of<SplitHalf>() ? of_fragments.energies(*kernel)
                                                                  : of_blocks.energies(*kernel);
          };
          const auto found = energies();
          ASSERT_EQ(found.size(), expected.size());
          for (std::size_t n = 0; n < found.size(); ++n) {
            EXPECT_NEAR(found[n], expected[n], testing::tolerance_of(Precision::mixed) * largest) << "sum " << n;
          }
          EXPECT_EQ(energies(), found) << "another run";
        }
      }
    }
  }
}

/// Packs random panels on the device, part by part, and expects the elements that the host packs.
void expect_packed_as_on_the_host(PanelKind kind, int contracted) {
  Packing packing{};
  packing.kind = kind;
  packing.contracted = contracted;
  packing.outer = kind == PanelKind::left ? 1 : 2;
  std::int64_t size = contracted + 2;  // rows with gaps
  for (const int q : {0, 3 - packing.outer, packing.outer}) {
    packing.extent[q] = 5 + q;
    packing.stride[q] = size;
    size *= packing.extent[q];
  }
  packing.outer_count = packing.extent[packing.outer];
  std::vector<double> source(static_cast<std::size_t>(size));
  for (std::size_t n = 0; n < source.size(); ++n) {
    source[n] = std::sin(1.0 + static_cast<double>(n)) * std::exp(static_cast<double>(n % 89) - 50.0);
  }
  const auto expected = packed_panel<SplitHalf>(packing, source.data());
  std::vector<std::uint16_t> found(expected.size(), 7);
  const DeviceArray<double> raw(source.size());
  const DeviceArray<std::uint16_t> packed(expected.size());
  const std::int64_t outer_stride = packing.stride[packing.outer];
  for (int begin = 0; begin < packing.extent[packing.outer]; begin += hole_group_size) {
    Packing part = packing;
    part.outer_begin = begin;
    part.outer_count = std::min(hole_group_size, packing.extent[packing.outer] - begin);
    TRIFUSE_CUDA(cudaMemcpy(raw.data(), source.data() + begin * outer_stride,
                            static_cast<std::size_t>(part.outer_count * outer_stride) * sizeof(double),
                            cudaMemcpyHostToDevice));
    launch_packing(part, format_of<SplitHalf>(), raw.data(), packed.data(), nullptr);
    TRIFUSE_CUDA(cudaDeviceSynchronize());
  }
  TRIFUSE_CUDA(cudaMemcpy(found.data(), packed.data(), found.size() * sizeof(std::uint16_t), cudaMemcpyDeviceToHost));
  EXPECT_TRUE(found == expected) << contracted << " contracted indices";
}

TEST_F(MixedKernelsOnGpu, HaveOperandsThatArePackedOnTheDeviceAsOnTheHost) {
  for (const PanelKind kind : {PanelKind::left, PanelKind::right}) {
    for (const int contracted : {1, 21, 64, 150}) expect_packed_as_on_the_host(kind, contracted);
  }
}

}
}
