#pragma once

#include "cxx/cuda/schedule/layout.hpp"

/// How a lane gets its part of a fragment out of a chunk, and what else depends on the kind of operand. A chunk is
/// lane-linear: the caller has already added `lane * lane_bytes`.
namespace trifuse::gpu {

template <typename Precision>
struct Fragments;

template <>
struct Fragments<Fp64> {
  using Row = double[4];     ///< (r, q), (r + 8, q), (r, q + 4), (r + 8, q + 4) of lane 4 r + q
  using Column = double[2];  ///< (q, n), (q + 4, n) of lane 4 n + q
  static constexpr int lane_bytes = 16;

  /// Of inner step `step` of a chunk of A: two 16-byte loads.
  static __device__ __forceinline__ void load(Row& row, const char* chunk, int step) {
    constexpr int step_bytes = Fp64::a_chunk / Fp64::chunk_steps * static_cast<int>(sizeof(double));
    const double2 low = *reinterpret_cast<const double2*>(chunk + step * step_bytes);
    const double2 high = *reinterpret_cast<const double2*>(chunk + step * step_bytes + step_bytes / 2);
    row[0] = low.x;
    row[1] = low.y;
    row[2] = high.x;
    row[3] = high.y;
  }
  /// Of inner step `step` of a chunk of B: one 16-byte load.
  static __device__ __forceinline__ void load(Column& column, const char* chunk, int step) {
    constexpr int step_bytes = Fp64::b_chunk / Fp64::chunk_steps * static_cast<int>(sizeof(double));
    const double2 both = *reinterpret_cast<const double2*>(chunk + step * step_bytes);
    column[0] = both.x;
    column[1] = both.y;
  }
  /// x with its sign changed if `sign_bit` is 0x80000000.
  static __device__ __forceinline__ double change_sign(double x, unsigned sign_bit) {
    return __hiloint2double(__double2hiint(x) ^ static_cast<int>(sign_bit), __double2loint(x));
  }
};

}  // namespace trifuse::gpu
