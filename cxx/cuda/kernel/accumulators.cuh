#pragma once

#include <array>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "cxx/cuda/schedule/accumulator_layout.hpp"
#include "cxx/cuda/schedule/configuration.hpp"
#include "cxx/cuda/schedule/element_arrangement.hpp"

namespace trifuse::gpu {

/// Returns -x if `sign_bit` is 0x80000000, and x if it is 0. There is an overload for each type of accumulators.
__device__ __forceinline__ double with_changed_sign(double x, unsigned sign_bit) {
  return __hiloint2double(__double2hiint(x) ^ static_cast<int>(sign_bit), __double2loint(x));
}

__device__ __forceinline__ float with_changed_sign(float x, unsigned sign_bit) {
  return __uint_as_float(__float_as_uint(x) ^ sign_bit);
}

/// Calls `function` once for each of the numbers n, which it gets as a compile-time constant.
template <int... n, typename Function>
__device__ __forceinline__ void for_each_constant(std::integer_sequence<int, n...>, Function function) {
  (function(std::integral_constant<int, n>{}), ...);
}

/// Returns the value of a linear map for a lane: the XOR of columns[bit] over all bits that are set in the lane's
/// number.
template <std::array<unsigned, lane_bits> columns>
__device__ __forceinline__ unsigned linear_in_lane(unsigned lane) {
  constexpr int distances = 2 * lane_bits - 1;
  unsigned value = 0;
  // Bits that move equally far are moved together.
  for_each_constant(std::make_integer_sequence<int, distances>{}, [&](auto n) {
    constexpr int left = n.value - (lane_bits - 1);
    constexpr auto moved = [] {
      unsigned bits = 0;
      for (int b = 0; b < lane_bits; ++b) {
        if (b + left >= 0) bits |= columns[static_cast<std::size_t>(b)] & 1u << (b + left);
      }
      return bits;
    };
    constexpr unsigned mask = moved();
    if constexpr (mask != 0) value ^= (left < 0 ? lane >> -left : lane << left) & mask;
  });
  return value;
}

/// The accumulators of a warp: the elements of one target in its warp tile. They stay in registers from the first
/// product to the last one. accumulator_layout.hpp says which element each register of each lane holds.
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

  /// Returns the number of a lane's register for particles (a, b, c) of the warp tile, after a product in which
  /// particle `x` stands alone in A. `half`: see accumulator_layout.hpp.
  static constexpr __device__ __forceinline__ int index(int x, int a, int b, int c, int half) {
    if constexpr (Config::group_warps > 1) return register_of_particles(a, b, half);
    return accumulator_index(x, Config::warp_tile_b, Config::warp_tile_c, a, b, c, half);
  }

  /// Returns the accumulator fragment to which a product adds fragment `m` of A times fragment (r, c) of B. `x`: the
  /// particle that stands alone in A. See fragment_number().
  template <int x>
  __device__ __forceinline__ Number (&fragment(int m, int r, int c))[4] {
    return at[fragment_number(x, Config::warp_tile_b, Config::warp_tile_c, m, r, c)];
  }

  /// Returns the accumulator of the element that a product with lone particle `x` has in register `e` of fragment(m, r,
  /// c). The accumulators have the layout of products with lone particle `layout`.
  template <int x, int layout>
  __device__ __forceinline__ Number& element(int m, int r, int c, int e) {
    const int doubled = c * particle_pair + e % 2, half = e / 2;
    const int a = x == 0 ? m : r, b = x == 0 ? r : x == 1 ? m : doubled, third = x == 2 ? m : doubled;
    const int n = index(layout, a, b, third, half);
    return at[n / 4][n % 4];
  }

  /// Moves each element to the register where the next product needs it. `from`, `to`: the particle that stands alone
  /// in A in the last product and in the next one. Only names of registers change, so it costs no instruction.
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

  /// Moves each element to the lane and the register where the next product needs it, for warps that multiply together.
  /// `from_x`, `from_y`: lone particle and lone hole of the last product. `to_x`, `to_y`: those of the next product.
  /// All lanes of the warp must call it. `units`: 1 if only elements with the first half of the values of b are needed,
  /// else 2.
  template <int units, int from_x, int from_y, int to_x, int to_y>
  __device__ __forceinline__ void change_arrangement(int lane) {
    constexpr ArrangementChange change{arrangement({from_x, from_y}), arrangement({to_x, to_y})};
    constexpr int bits = change.moved_bits(), rounds = 1 << bits;
    constexpr bool first_is_local = change.first_round_is_local();
    constexpr bool exchanges_pairs = change.exchanges_pairs();
    const Accumulators before = *this;
    const auto of_lane = static_cast<unsigned>(lane);
    const auto given = static_cast<int>(linear_in_lane<change.given_columns()>(of_lane)),
               stored = static_cast<int>(linear_in_lane<change.stored_columns()>(of_lane));
    int source[rounds];
    source[0] = static_cast<int>(linear_in_lane<change.source_columns()>(of_lane));
    for_each_constant(std::make_integer_sequence<int, rounds>{}, [&](auto t) {
      constexpr int of_round = change.source_lane(0, t.value);
      source[t.value] = source[0] ^ of_round;
    });
    constexpr int groups = 4 * fragments / rounds / 2 * units;
    static_assert(change.source_register(groups - 1, rounds - 1) < 2 * fragments * units,
                  "the last half of the registers has the last half of the values of b");
    for_each_constant(std::make_integer_sequence<int, groups>{}, [&](auto group) {
      Number moving[rounds];
      for_each_constant(std::make_integer_sequence<int, rounds>{}, [&](auto t) {
        constexpr int n = change.source_register(group.value, t.value);
        moving[t.value] = before.at[n / 4][n % 4];
      });
      if constexpr (exchanges_pairs) {
        // A lane keeps one number of each pair in its register, so three selections suffice.
        const Number got = __shfl_sync(~0u, given != 0 ? moving[0] : moving[1], source[1]);
        moving[0] = given != 0 ? got : moving[0];
        moving[1] = given != 0 ? moving[1] : got;
      } else {
        permute<bits>(moving, given);
#pragma unroll
        for (int t = first_is_local ? 1 : 0; t < rounds; ++t) moving[t] = __shfl_sync(~0u, moving[t], source[t]);
        permute<bits>(moving, stored);
      }
      for_each_constant(std::make_integer_sequence<int, rounds>{}, [&](auto t) {
        constexpr int n = change.target_register(group.value, t.value);
        at[n / 4][n % 4] = moving[t.value];
      });
    });
  }

  /// Moves each element to the lane where the next product needs it. `from`, `to`: the hole that stands alone in B in
  /// the last product and in the next one. All lanes of the warp must call it.
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

 private:
  /// Exchanges numbers so that x[t] becomes x[t ^ mask].
  template <int bits>
  static __device__ __forceinline__ void permute(Number (&x)[1 << bits], int mask) {
#pragma unroll
    for (int b = 0; b < bits; ++b) {
      const bool swap = (mask >> b & 1) != 0;
#pragma unroll
      for (int t = 0; t < 1 << bits; ++t) {
        if ((t >> b & 1) != 0) continue;
        const Number low = x[t], high = x[t | 1 << b];
        x[t] = swap ? high : low;
        x[t | 1 << b] = swap ? low : high;
      }
    }
  }
};

}
