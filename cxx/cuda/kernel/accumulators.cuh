#pragma once

#include "cxx/cuda/kernel/fragments.cuh"
#include "cxx/cuda/schedule/configuration.hpp"

/// The accumulators of a warp: its warp tile of one target, in registers from the first product to the last.
///
/// A fragment of A has 16 rows: 4 x 4 values of two holes p and q. A fragment of B has 8 columns: 4 values of the hole
/// y that stands alone in B, times 2 values of one particle, the doubled particle. Lane 4 r + n holds in register e of
/// an accumulator fragment the element with
///
///     p = r / 4 + 2 (e / 2),   q = r % 4,   y = n,   low bit of the doubled particle = e % 2
///
/// The holes (p, q, y) are (i, j, k) in products 0 to 2, (i, k, j) in products 3 to 5, (j, k, i) in products 6 to 8.
///
/// The doubled particle is c as long as a or b stands alone in A; then `at[a][b][c / 2]` holds particles (a, b, c). It
/// is b if c stands alone in A; then `at[a][b & ~1 | c & 1][c / 2]` holds particles (a, b, c).
namespace trifuse::gpu {

template <typename Config>
struct Accumulators {
  using Number = typename Config::Precision::Accumulator;
  static constexpr int warp_tile_a = Config::warp_tile_a, warp_tile_b = Config::warp_tile_b,
                       half_c = Config::warp_tile_c / particle_pair;
  Number at[warp_tile_a][warp_tile_b][half_c][4];

  template <typename Function>
  __device__ __forceinline__ void for_each_fragment(Function function) {
#pragma unroll
    for (int a = 0; a < warp_tile_a; ++a)
#pragma unroll
      for (int b = 0; b < warp_tile_b; ++b)
#pragma unroll
        for (int c = 0; c < half_c; ++c) function(at[a][b][c]);
  }

  __device__ __forceinline__ void clear() {
    for_each_fragment([](Number(&f)[4]) { f[0] = f[1] = f[2] = f[3] = 0; });
  }
  /// Changes all signs if `sign_bit` is 0x80000000, and none if it is 0.
  __device__ __forceinline__ void change_sign(unsigned sign_bit) {
    for_each_fragment([&](Number(&f)[4]) {
#pragma unroll
      for (Number& x : f) {
        x = Fragments<typename Config::Precision>::change_sign(x, sign_bit);
      }
    });
  }

  /// The accumulator fragment of A's fragment `m` and B's fragment (r, c) in a product with particle `x` alone in A.
  /// `m` is the value of x, `r` the value of the first other particle, `c` the pair of values of the second one.
  template <int x>
  __device__ __forceinline__ Number (&fragment(int m, int r, int c))[4] {
    if constexpr (x == 0) return at[m][r][c];
    if constexpr (x == 1) return at[r][m][c];
    if constexpr (x == 2) return at[r][2 * c + (m & 1)][m >> 1];
  }

  /// Index 0..accumulators-1 in a lane of particles (a, b, c) and half `h` of the rows (bit e / 2), if b is the doubled
  /// particle.
  static constexpr __device__ __forceinline__ int index_with_b_doubled(int a, int b, int c, int h) {
    return ((a * warp_tile_b + ((b & ~1) | (c & 1))) * half_c + (c >> 1)) * 4 + (b & 1) + 2 * h;
  }

  /// Makes b the doubled particle instead of c, or c instead of b: exchanges the low bits of b and c.
  __device__ __forceinline__ void exchange_doubled_index() {
#pragma unroll
    for (int a = 0; a < warp_tile_a; ++a)
#pragma unroll
      for (int b = 0; b < warp_tile_b; b += 2)
#pragma unroll
        for (int c = 0; c < half_c; ++c)
#pragma unroll
          for (int h = 0; h < 4; h += 2) {
            const Number moved = at[a][b][c][h + 1];
            at[a][b][c][h + 1] = at[a][b + 1][c][h];
            at[a][b + 1][c][h] = moved;
          }
  }

  /// Exchanges the holes q and y, (i, j, k) to (i, k, j): bits 2 and 3 of the lane with bits 0 and 1.
  __device__ __forceinline__ void exchange_q_y(int lane) {
    const int source = (lane & 16) | (lane & 3) << 2 | (lane >> 2 & 3);
    for_each_fragment([&](Number(&f)[4]) {
#pragma unroll
      for (Number& x : f) x = __shfl_sync(~0u, x, source);
    });
  }

  /// Exchanges the holes p and y, (i, k, j) to (j, k, i). The low bit of y is bit 0 of the lane and changes places with
  /// the low bit of p, which is bit 4. The high bit of y is bit 1 of the lane and changes places with the high bit of
  /// p, which is bit 1 of the register number. So a lane reads from two lanes: `same` has the same high bit of y,
  /// `other` has the other one.
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
