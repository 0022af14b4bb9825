#pragma once

#include "cxx/cuda/schedule/configuration.hpp"

/// Precisions that only tests have. They show that the host plans, and the kernels compute, in more than one precision.
namespace trifuse::gpu {

/// Operands that are a sum of one or two floats. Their products are added in double precision. The k-tile of a fragment
/// of A is [k / 8, slice, lane, k % 8 / 4, row / 8]. The k-tile of a fragment of B is [lane, k / 8, slice, k % 8 / 4].
/// Lanes are those of Fp64. The two precisions have k-tiles of the same size, but of different depths.
template <int slices_>
struct FloatSlices : SingleFragments {
  static_assert(slices_ == 1 || slices_ == 2);
  static constexpr const char* name = slices_ == 1 ? "fp32" : "fp32x2";
  using Operand = float;
  using Accumulator = double;
  static constexpr int slices = slices_;
  static constexpr int rows = 16, columns = 8;
  static constexpr int k_step = 8;
  static constexpr int k_tile_steps = 2 / slices;
  static constexpr int k_tile_depth = k_step * k_tile_steps;
  static constexpr int scale_elements = 0;
  static constexpr int a_k_tile = slices * rows * k_tile_depth, b_k_tile = slices * columns * k_tile_depth;

  static constexpr TRIFUSE_HOST_DEVICE float slice_of(double x, int slice) {
    const float high = static_cast<float>(x);
    return slice == 0 ? high : static_cast<float>(x - static_cast<double>(high));
  }

  static constexpr TRIFUSE_HOST_DEVICE int a_index(int row, int k, int slice) {
    const int lane = row % 8 * 4 + k % 4;
    return ((k / k_step * slices + slice) * 32 + lane) * 4 + k % k_step / 4 * 2 + row / 8;
  }
  static constexpr TRIFUSE_HOST_DEVICE int b_index(int k, int column, int slice) {
    const int lane = column * 4 + k % 4;
    return lane * 4 + (k / k_step * slices + slice) * 2 + k % k_step / 4;
  }
  static constexpr TRIFUSE_HOST_DEVICE int a_slice(int element) { return element / 128 % slices; }
  static constexpr TRIFUSE_HOST_DEVICE int b_slice(int element) { return element / 2 % 2 % slices; }
  static constexpr TRIFUSE_HOST_DEVICE int a_row(int element) { return element % 128 / 16 + element % 2 * 8; }
  static constexpr TRIFUSE_HOST_DEVICE int a_contracted(int element) {
    return element / 128 / slices * k_step + element / 2 % 2 * 4 + element / 4 % 4;
  }
  static constexpr TRIFUSE_HOST_DEVICE int b_column(int element) { return element / 16; }
  static constexpr TRIFUSE_HOST_DEVICE int b_contracted(int element) {
    return element / 2 % 2 / slices * k_step + element % 2 * 4 + element / 4 % 4;
  }
};
using Fp32 = FloatSlices<1>;
using TwoFloats = FloatSlices<2>;

/// A kernel like "fma-2x2x2" in another precision.
template <typename Precision>
using FmaIn = Configuration<Precision, Fma, Staging::cooperative, 2, 2, 2, 1>;

}
