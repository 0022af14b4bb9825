#pragma once

#include "cxx/cuda/schedule/layout.hpp"
#include "cxx/cuda/schedule/split_half.hpp"

/// How a lane loads its part of a fragment from a k-tile in shared memory, in each precision. The caller has already
/// added `lane_offset(lane)`, bytes, to the address of the k-tile.
namespace trifuse::gpu {

template <typename Precision>
struct Fragments;

template <>
struct Fragments<Fp64> {
  using Row = double[4];     ///< lane 4 r + q holds A(r, q), A(r + 8, q), A(r, q + 4), A(r + 8, q + 4)
  using Column = double[2];  ///< lane 4 n + q holds B(q, n), B(q + 4, n)
  static __device__ __forceinline__ int lane_offset(int lane) { return 16 * Fp64::place_of_lane(lane); }

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

template <>
struct Fragments<SplitHalf> {
  /// The registers of a lane for a k-step. For A they hold one slice: in lane 4 r + q, A(r, k), A(r + 8, k), A(r, k +
  /// 8), A(r + 8, k + 8) for k = 2 q and 2 q + 1. For B they hold both slices: in lane 4 n + q, the high slices of B(k,
  /// n) and B(k + 8, n) for these k, then the low slices.
  using Registers = unsigned[4];
  static constexpr int lane_bytes = 16;
  static __device__ __forceinline__ int lane_offset(int lane) { return lane * lane_bytes; }
  static constexpr int size = sizeof(SplitHalf::Operand);
  /// Sizes of the k-tiles in bytes, and bytes from the begin of a k-tile to its scale.
  static constexpr int a_bytes = size * SplitHalf::a_k_tile, b_bytes = size * SplitHalf::b_k_tile;
  static constexpr int scale_bytes = size * SplitHalf::scale_elements;
  static constexpr int a_scale = a_bytes - scale_bytes, b_scale = b_bytes - scale_bytes;
  /// Bytes from one k-step of a k-tile to the next, and from the high slice of A to its low slice.
  static constexpr int a_step = a_scale / SplitHalf::k_tile_steps, b_step = b_scale / SplitHalf::k_tile_steps;
  static constexpr int a_low = a_step / 2;

  /// Loads 16 bytes from shared memory. Without `volatile` the compiler would move the load to the place where the
  /// numbers are used.
  static __device__ __forceinline__ void load(Registers& registers, unsigned address) {
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(registers[0]), "=r"(registers[1]), "=r"(registers[2]), "=r"(registers[3])
                 : "r"(address));
  }
  /// Returns the scale at this address in shared memory.
  static __device__ __forceinline__ float scale(unsigned address) {
    float value;
    asm volatile("ld.shared.f32 %0, [%1];" : "=f"(value) : "r"(address));
    return value;
  }
};

}
