#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

#include "tests/gpu/gpu_test_support.hpp"
#include "tests/gpu/kernels/other_precisions.hpp"
#include "tests/gpu/kernels/random_task.hpp"
#include "tests/support/float_slices.hpp"
#include "tests/support/refusals.hpp"

/// Kernels whose operands are floats or sums of two floats, with accumulators and energies in double precision.
namespace trifuse::gpu {
namespace {

class OtherPrecisions : public testing::OnGpu {
 protected:
  void SetUp() override {
    testing::OnGpu::SetUp();
    if (!IsSkipped()) TRIFUSE_CUDA(cudaSetDevice(0));
  }

  /// The largest difference of the energy sums of random tasks from those in double precision, relative to the largest
  /// sum of the task.
  template <typename Precision>
  static double worst_difference(SpinFormulation formulation) {
    const auto named = [](const Kernel& kernel) { return kernel.name == "fma-2x2x2"; };
    const auto in_doubles = std::find_if(kernels().begin(), kernels().end(), named);
    if (in_doubles == kernels().end()) return NAN;
    double worst = 0.0;
    // Odd numbers of k-steps, and k-tiles that are not full.
    for (const int contracted : {5, 21, 64}) {
      const std::array<int, 6> extent = {5, 7, 6, 6, 5, 9};
      const auto expected = RandomTask<Fp64>(formulation, extent, contracted, 0, 0).energies(*in_doubles);
      const auto found =
          RandomTask<Precision>(formulation, extent, contracted, 0, 0).energies(energies_in<Precision>());
      double largest = 0.0;
      for (const double x : expected) largest = std::max(largest, std::abs(x));
      EXPECT_GT(largest, 0.0);
      for (std::size_t n = 0; n < expected.size(); ++n) {
        const double difference = std::abs(found[n] - expected[n]) / largest;
        if (!std::isfinite(difference)) return NAN;
        worst = std::max(worst, difference);
      }
    }
    return worst;
  }

  /// Packs random panels on the device, part by part, and expects the elements that the host packs.
  template <typename Precision>
  static void expect_packed_as_on_the_host(PanelKind kind);
};

// Floats have 24 bits. Energies have their error, not that of doubles.
TEST_F(OtherPrecisions, GiveEnergiesToThePrecisionOfFloats) {
  for (const SpinFormulation formulation : {SpinFormulation::spin_orbital, SpinFormulation::spin_adapted}) {
    const double worst = worst_difference<Fp32>(formulation);
    EXPECT_LT(worst, 1e-6) << to_string(formulation);
    EXPECT_GT(worst, 1e-12) << to_string(formulation) << ": the operands were doubles";
  }
}

// Two floats have 48 bits.
TEST_F(OtherPrecisions, GiveEnergiesToThePrecisionOfTwoFloats) {
  for (const SpinFormulation formulation : {SpinFormulation::spin_orbital, SpinFormulation::spin_adapted}) {
    EXPECT_LT(worst_difference<TwoFloats>(formulation), 1e-12) << to_string(formulation);
  }
}

template <typename Precision>
void OtherPrecisions::expect_packed_as_on_the_host(PanelKind kind) {
  SCOPED_TRACE(Precision::name);
  using Number = typename Precision::Operand;
  Packing packing{};
  packing.kind = kind;
  packing.contracted = 21;
  packing.outer = kind == PanelKind::left ? 1 : 2;
  std::int64_t size = 23;  // rows with gaps
  for (const int q : {0, 3 - packing.outer, packing.outer}) {
    packing.extent[q] = 5 + q;
    packing.stride[q] = size;
    size *= packing.extent[q];
  }
  packing.outer_count = packing.extent[packing.outer];
  std::vector<double> source(static_cast<std::size_t>(size));
  for (std::size_t n = 0; n < source.size(); ++n) source[n] = std::sin(1.0 + static_cast<double>(n));
  const std::vector<Number> expected = packed_panel<Precision>(packing, source.data());
  std::vector<Number> found(expected.size(), Number{7});
  const DeviceArray<double> raw(source.size());
  const DeviceArray<Number> packed(expected.size());
  const std::int64_t outer_stride = packing.stride[packing.outer];
  for (int begin = 0; begin < packing.extent[packing.outer]; begin += hole_group_size) {
    Packing part = packing;
    part.outer_begin = begin;
    part.outer_count = std::min(hole_group_size, packing.extent[packing.outer] - begin);
    TRIFUSE_CUDA(cudaMemcpy(raw.data(), source.data() + begin * outer_stride,
                            static_cast<std::size_t>(part.outer_count * outer_stride) * sizeof(double),
                            cudaMemcpyHostToDevice));
    pack_in<Precision>(part, raw.data(), packed.data(), nullptr);
    TRIFUSE_CUDA(cudaDeviceSynchronize());
  }
  TRIFUSE_CUDA(cudaMemcpy(found.data(), packed.data(), found.size() * sizeof(Number), cudaMemcpyDeviceToHost));
  EXPECT_TRUE(found == expected);
}

TEST_F(OtherPrecisions, ArePackedOnTheDeviceAsOnTheHost) {
  for (const PanelKind kind : {PanelKind::left, PanelKind::right}) {
    expect_packed_as_on_the_host<Fp32>(kind);
    expect_packed_as_on_the_host<TwoFloats>(kind);
  }
}

// The program itself has no kernel for these precisions, and says so.
TEST_F(OtherPrecisions, AreRefusedByPackingWithoutAKernel) {
  testing::expect_failure<Error>([] { launch_packing({}, format_of<Fp32>(), nullptr, nullptr, nullptr); },
                                 "No kernel of this build reads operands in the format \"fp32\"");
}

}
}
