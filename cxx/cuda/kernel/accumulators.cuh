#pragma once

#include "cxx/cuda/kernel/fragments.cuh"
#include "cxx/cuda/schedule/configuration.hpp"

/// A warp's share of the six-index block, in registers from the first product to the last.
///
/// A fragment's 16 rows are 4 x 4 of the two holes in A (slow index p, fast index q), its 8 columns are 4 of the hole
/// that is alone, y, times 2 of a particle. Lane 4 r + n and register e of a fragment therefore hold
///
///     p = r / 4 + 2 (e / 2),   q = r % 4,   y = n,   low bit of the doubled particle = e % 2
///
/// The holes stand as (p, q, y) = (i, j, k) in the first three phases, (i, k, j) in the next, (j, k, i) in the last.
/// While c is the doubled particle ("straight"), `at[a][b][c / 2]` holds particles (a, b, c); when c is alone, b is
/// doubled ("crossed") and `at[a][b & ~1 | c & 1][c / 2]` does.
namespace trifuse::gpu {

template <typename Config>
struct Accumulators {
  using Number = typename Config::Precision::Accumulator;
  static constexpr int sub_a = Config::sub_a, sub_b = Config::sub_b, half_c = Config::sub_c / pair;
  Number at[sub_a][sub_b][half_c][4];

  template <typename Function>
  __device__ __forceinline__ void for_each_fragment(Function function) {
#pragma unroll
    for (int a = 0; a < sub_a; ++a)
#pragma unroll
      for (int b = 0; b < sub_b; ++b)
#pragma unroll
        for (int c = 0; c < half_c; ++c) function(at[a][b][c]);
  }

  __device__ __forceinline__ void clear() {
    for_each_fragment([](Number(&f)[4]) { f[0] = f[1] = f[2] = f[3] = 0; });
  }
  /// Changes all signs if `sign_bit` is 0x80000000 and none if it is 0.
  __device__ __forceinline__ void change_sign(unsigned sign_bit) {
    for_each_fragment([&](Number(&f)[4]) {
#pragma unroll
      for (Number& x : f) {
        x = Fragments<typename Config::Precision>::change_sign(x, sign_bit);
      }
    });
  }

  /// The fragment of row fragment `m` and column fragment (r, c) of a product with particle `x` alone: rows count x,
  /// columns count the other two particles, the later one in pairs.
  template <int x>
  __device__ __forceinline__ Number (&fragment(int m, int r, int c))[4] {
    if constexpr (x == 0) return at[m][r][c];
    if constexpr (x == 1) return at[r][m][c];
    if constexpr (x == 2) return at[r][2 * c + (m & 1)][m >> 1];
  }

  /// The number, among a lane's, of particles (a, b, c) and half `h` of the rows, crossed.
  static constexpr __device__ __forceinline__ int crossed(int a, int b, int c, int h) {
    return ((a * sub_b + ((b & ~1) | (c & 1))) * half_c + (c >> 1)) * 4 + (b & 1) + 2 * h;
  }

  /// Straight to crossed and back: interchanges the low bits of b and c.
  __device__ __forceinline__ void cross() {
#pragma unroll
    for (int a = 0; a < sub_a; ++a)
#pragma unroll
      for (int b = 0; b < sub_b; b += 2)
#pragma unroll
        for (int c = 0; c < half_c; ++c)
#pragma unroll
          for (int h = 0; h < 4; h += 2) {
            const Number moved = at[a][b][c][h + 1];
            at[a][b][c][h + 1] = at[a][b + 1][c][h];
            at[a][b + 1][c][h] = moved;
          }
  }

  /// Interchanges the holes q and y: (i, j, k) to (i, k, j).
  __device__ __forceinline__ void exchange_q_y(int lane) {
    const int source = (lane & 16) | (lane & 3) << 2 | (lane >> 2 & 3);
    for_each_fragment([&](Number(&f)[4]) {
#pragma unroll
      for (Number& x : f) x = __shfl_sync(~0u, x, source);
    });
  }

  /// Interchanges the holes p and y: (i, k, j) to (j, k, i). The low bit of y changes places with a bit of the lane
  /// that p has, its high bit with the register's. A lane gets, from lanes whose high bit of y is its own, then the
  /// other one, what they hold for that bit.
  __device__ __forceinline__ void exchange_p_y(int lane) {
    const int same = (lane & 1) << 4 | (lane & 14) | lane >> 4, other = same ^ 2;
    const bool high = (lane & 2) != 0;
    for_each_fragment([&](Number(&f)[4]) {
#pragma unroll
      for (int v = 0; v < 2; ++v) {
        const Number from_same = __shfl_sync(~0u, high ? f[v + 2] : f[v], same);
        const Number from_other = __shfl_sync(~0u, high ? f[v] : f[v + 2], other);
        f[v] = high ? from_other : from_same;
        f[v + 2] = high ? from_same : from_other;
      }
    });
  }
};

}  // namespace trifuse::gpu
