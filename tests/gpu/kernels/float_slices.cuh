#pragma once

#include "cxx/cuda/kernel/fragments.cuh"
#include "tests/support/float_slices.hpp"

namespace trifuse::gpu {

/// Operands are widened to doubles when they are loaded, so the instructions for doubles multiply them.
template <int slices>
struct Fragments<FloatSlices<slices>> {
  using Row = double[4];     ///< as Fragments<Fp64>
  using Column = double[2];  ///< as Fragments<Fp64>
  static constexpr int lane_bytes = 16;
  static __device__ __forceinline__ int lane_offset(int lane) { return lane * lane_bytes; }

  static __device__ __forceinline__ void load(Row& row, const char* k_tile, int step) {
    constexpr int slice_bytes = 32 * lane_bytes;
    for (double& x : row) x = 0.0;
#pragma unroll
    for (int slice = 0; slice < slices; ++slice) {
      const float4 part = *reinterpret_cast<const float4*>(k_tile + (step * slices + slice) * slice_bytes);
      row[0] += part.x;
      row[1] += part.y;
      row[2] += part.z;
      row[3] += part.w;
    }
  }
  static __device__ __forceinline__ void load(Column& column, const char* k_tile, int step) {
    constexpr int slice_bytes = 2 * static_cast<int>(sizeof(float));
    for (double& x : column) x = 0.0;
#pragma unroll
    for (int slice = 0; slice < slices; ++slice) {
      const float2 part = *reinterpret_cast<const float2*>(k_tile + (step * slices + slice) * slice_bytes);
      column[0] += part.x;
      column[1] += part.y;
    }
  }
};

}
