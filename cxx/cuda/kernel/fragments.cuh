#pragma once

#include "cxx/cuda/schedule/layout.hpp"

/// How a lane loads its part of a fragment from a k-tile in shared memory, in each precision. The caller has already
/// added `lane * lane_bytes` to the address of the k-tile.
namespace trifuse::gpu {

template <typename Precision>
struct Fragments;

template <>
struct Fragments<Fp64> {
  using Row = double[4];     ///< lane 4 r + q holds A(r, q), A(r + 8, q), A(r, q + 4), A(r + 8, q + 4)
  using Column = double[2];  ///< lane 4 n + q holds B(q, n), B(q + 4, n)
  static constexpr int lane_bytes = 16;

  /// Loads k-step `step` of a k-tile of A: two 16-byte loads.
  static __device__ __forceinline__ void load(Row& row, const char* k_tile, int step) {
    constexpr int step_bytes = Fp64::a_k_tile / Fp64::k_tile_steps * static_cast<int>(sizeof(double));
    const double2 low = *reinterpret_cast<const double2*>(k_tile + step * step_bytes);
    const double2 high = *reinterpret_cast<const double2*>(k_tile + step * step_bytes + step_bytes / 2);
    row[0] = low.x;
    row[1] = low.y;
    row[2] = high.x;
    row[3] = high.y;
  }
  /// Loads k-step `step` of a k-tile of B: one 16-byte load.
  static __device__ __forceinline__ void load(Column& column, const char* k_tile, int step) {
    constexpr int step_bytes = Fp64::b_k_tile / Fp64::k_tile_steps * static_cast<int>(sizeof(double));
    const double2 both = *reinterpret_cast<const double2*>(k_tile + step * step_bytes);
    column[0] = both.x;
    column[1] = both.y;
  }
};

}  // namespace trifuse::gpu
