#pragma once

#include "cxx/cuda/schedule/accumulator_layout.hpp"
#include "cxx/cuda/schedule/configuration.hpp"

namespace trifuse::gpu {

/// Returns -x if `sign_bit` is 0x80000000, and x if it is 0. Accumulators of another type have an overload of their
/// own.
__device__ __forceinline__ double with_changed_sign(double x, unsigned sign_bit) {
  return __hiloint2double(__double2hiint(x) ^ static_cast<int>(sign_bit), __double2loint(x));
}

/// The accumulators of a warp: its warp tile of one target, in registers from the first product to the last. See
/// accumulator_layout.hpp for the element that each number of each lane holds.
template <typename Config>
struct Accumulators {
  using Number = typename Config::Precision::Accumulator;
  static constexpr int fragments = Config::accumulators / 4;
  Number at[fragments][4];  ///< [accumulator fragment, register]

  template <typename Function>
  __device__ __forceinline__ void for_each_fragment(Function function) {
#pragma unroll
    for (int n = 0; n < fragments; ++n) function(at[n]);
  }

  __device__ __forceinline__ void clear() {
    for_each_fragment([](Number(&f)[4]) { f[0] = f[1] = f[2] = f[3] = 0; });
  }
  /// Changes all signs if `sign_bit` is 0x80000000, and none if it is 0.
  __device__ __forceinline__ void change_sign(unsigned sign_bit) {
    for_each_fragment([&](Number(&f)[4]) {
#pragma unroll
      for (Number& x : f) x = with_changed_sign(x, sign_bit);
    });
  }

  /// Index in a lane of particles (a, b, c) of the warp tile, if particle `x` stands alone in A.
  static constexpr __device__ __forceinline__ int index(int x, int a, int b, int c, int half) {
    return accumulator_index(x, Config::warp_tile_b, Config::warp_tile_c, a, b, c, half);
  }

  /// The accumulator fragment of A's fragment `m` and B's fragment (r, c) in a product with particle `x` alone in A,
  /// see fragment_number().
  template <int x>
  __device__ __forceinline__ Number (&fragment(int m, int r, int c))[4] {
    return at[fragment_number(x, Config::warp_tile_b, Config::warp_tile_c, m, r, c)];
  }

  /// Renames the accumulators of products with particle `from` alone in A to those of products with particle `to`.
  template <int from, int to>
  __device__ __forceinline__ void change_lone_particle() {
    if constexpr (doubled_particle(from) != doubled_particle(to)) {
      const Accumulators before = *this;
#pragma unroll
      for (int a = 0; a < Config::warp_tile_a; ++a)
#pragma unroll
        for (int b = 0; b < Config::warp_tile_b; ++b)
#pragma unroll
          for (int c = 0; c < Config::warp_tile_c; ++c)
#pragma unroll
            for (int half = 0; half < 2; ++half) {
              const int source = index(from, a, b, c, half), n = index(to, a, b, c, half);
              at[n / 4][n % 4] = before.at[source / 4][source % 4];
            }
    }
  }

  /// Exchanges accumulators between lanes: from those of products with hole `from` alone in B to those of products with
  /// hole `to`. All lanes of the warp call it.
  template <int from, int to>
  __device__ __forceinline__ void change_lone_hole(int lane) {
    if constexpr (from != to) {
      constexpr LaneExchange exchange = lane_exchange(from, to);
      const int source = exchange.source_lane(lane, 0);
      if constexpr (exchange.keeps_half()) {
        for_each_fragment([&](Number(&f)[4]) {
#pragma unroll
          for (Number& x : f) x = __shfl_sync(~0u, x, source);
        });
      } else {
        const int other_source = exchange.source_lane(lane, 1);
        const bool gives_high = exchange.given_half(lane, 0) != 0, stores_high = exchange.stored_half(lane, 0) != 0;
        for_each_fragment([&](Number(&f)[4]) {
#pragma unroll
          for (int v = 0; v < 2; ++v) {
            const Number first = __shfl_sync(~0u, gives_high ? f[v + 2] : f[v], source);
            const Number second = __shfl_sync(~0u, gives_high ? f[v] : f[v + 2], other_source);
            f[v] = stores_high ? second : first;
            f[v + 2] = stores_high ? first : second;
          }
        });
      }
    }
  }
};

}  // namespace trifuse::gpu
