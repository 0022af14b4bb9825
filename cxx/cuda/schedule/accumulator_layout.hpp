#pragma once

#include "cxx/cuda/schedule/layout.hpp"

/// Where the lanes of a warp hold the elements of a target. These maps follow from the fragments of the matrix
/// instruction and from the two indices that stand alone in a product. Kernels and tests share them.
///
/// A fragment of A has 16 rows: 4 x 4 values of two holes p and q. A fragment of B has 8 columns: 4 values of the hole
/// y that stands alone in B, times 2 values of one particle. This particle is called the doubled particle. Register e,
/// 0..3, of an accumulator fragment in lane 4 r + n holds the element with
///
///     p = r / 4 + 2 (e / 2),   q = r % 4,   y = n,   low bit of the doubled particle = e % 2
///
/// p and q are the other two holes in ascending order. e / 2 is called the half. The doubled particle is the larger of
/// the two particles that do not stand alone in A: c, or b if c stands alone.
///
/// The place of an element is a number of six bits: the lane, and the half as bit 5. The holes have two bits each:
///
///     place = y | q << 2 | p << 4
namespace trifuse::gpu {

inline constexpr int lane_bits = 5;

/// first_other() and second_other() return the smaller and the larger of the two positions 0..2 other than `alone`.
constexpr TRIFUSE_HOST_DEVICE int first_other(int alone) {
  return alone == 0 ? 1 : 0;
}
constexpr TRIFUSE_HOST_DEVICE int second_other(int alone) {
  return alone == 2 ? 1 : 2;
}

/// Returns the position of the halved hole p. A lane holds two of its values, one in each half. `lone_hole`: position
/// 0..2 of the hole that stands alone.
constexpr TRIFUSE_HOST_DEVICE int halved_hole(int lone_hole) {
  return first_other(lone_hole);
}
/// Returns the number of the lowest bit in a place that belongs to the hole at `position`.
constexpr TRIFUSE_HOST_DEVICE int hole_shift(int lone_hole, int position) {
  return position == lone_hole ? 0 : position == second_other(lone_hole) ? 2 : 4;
}
/// Returns the hole at `position` of the elements that a lane holds in half 0. In half 1 the halved hole is larger by
/// 2.
constexpr TRIFUSE_HOST_DEVICE int hole_of_lane(int lone_hole, int position, int lane) {
  return lane >> hole_shift(lone_hole, position) & 3;
}
/// Returns i, j or k: the hole at `position` 0..2.
constexpr TRIFUSE_HOST_DEVICE int hole_at(int position, int i, int j, int k) {
  return position == 0 ? i : position == 1 ? j : k;
}
/// lane_of_holes() and half_of_holes() return the lane and the half of the element with holes i, j, k, each 0..3 inside
/// its hole group.
constexpr TRIFUSE_HOST_DEVICE int lane_of_holes(int lone_hole, int i, int j, int k) {
  return hole_at(lone_hole, i, j, k) | hole_at(second_other(lone_hole), i, j, k) << 2 |
         (hole_at(halved_hole(lone_hole), i, j, k) & 1) << 4;
}
constexpr TRIFUSE_HOST_DEVICE int half_of_holes(int lone_hole, int i, int j, int k) {
  return hole_at(halved_hole(lone_hole), i, j, k) >> 1;
}

/// Returns the position of the doubled particle. `lone_particle`: position 0..2 of the particle that stands alone.
constexpr TRIFUSE_HOST_DEVICE int doubled_particle(int lone_particle) {
  return second_other(lone_particle);
}

/// Returns the index, 0..accumulators-1, of the accumulator for particles (a, b, c) of the warp tile in a lane: 4 times
/// the number of the accumulator fragment, plus the register in it. Fragments are [a, b, c / 2] if c is doubled, and
/// [a, b with the low bit of c, c / 2] if b is doubled. `warp_tile_b`, `warp_tile_c`: numbers of particles of the warp
/// tile along b and c.
constexpr TRIFUSE_HOST_DEVICE int accumulator_index(int lone_particle, int warp_tile_b, int warp_tile_c, int a, int b,
                                                    int c, int half) {
  const bool doubled_b = doubled_particle(lone_particle) == 1;
  const int row = doubled_b ? (b & ~1) | (c & 1) : b, low = (doubled_b ? b : c) & 1;
  return ((a * warp_tile_b + row) * (warp_tile_c / particle_pair) + (c >> 1)) * 4 + low + 2 * half;
}

/// Returns the number of the accumulator fragment of A's fragment `m` and B's fragment (r, c) in a product. `m` is the
/// value of the particle that stands alone, `r` the value of the first other particle, `c` the pair of values of the
/// second one.
constexpr TRIFUSE_HOST_DEVICE int fragment_number(int lone_particle, int warp_tile_b, int warp_tile_c, int m, int r,
                                                  int c) {
  const int x = lone_particle, w = c * particle_pair;
  const int a = x == 0 ? m : r, b = x == 1 ? m : x == 0 ? r : w;
  return accumulator_index(x, warp_tile_b, warp_tile_c, a, b, x == 2 ? m : w, 0) / 4;
}

/// How the lanes of a warp exchange accumulators when another hole becomes the lone one. Each element moves to its new
/// place. The bits of the new place are a permutation of the bits of the old place.
///
/// If the half of every element stays, one shuffle moves each register: a lane reads from source_lane(lane, 0).
/// Otherwise two shuffles n = 0, 1 together move the two halves of a register. In shuffle n a lane gives half
/// given_half(lane, n), reads from source_lane(lane, n), and stores what it reads as half stored_half(lane, n).
struct LaneExchange {
  int bit[lane_bits];  ///< bit b of source_lane(lane, 0) is bit `bit[b]` of the lane
  int given;           ///< bit of the lane that selects the half to give in shuffle 0; -1: no element changes its half
  int stored;          ///< bit of the lane that selects the half to store in shuffle 0

  constexpr TRIFUSE_HOST_DEVICE bool keeps_half() const { return given < 0; }
  constexpr TRIFUSE_HOST_DEVICE int source_lane(int lane, int n) const {
    int source = 0;
    // Bits that move equally far are moved together.
    for (int distance = lane_bits - 1; distance > -lane_bits; --distance) {
      int moved = 0;
      for (int b = 0; b < lane_bits; ++b) moved |= b - bit[b] == distance ? 1 << b : 0;
      if (moved != 0) source |= (distance < 0 ? lane >> -distance : lane << distance) & moved;
    }
    return n == 0 ? source : source ^ 1 << given;
  }
  constexpr TRIFUSE_HOST_DEVICE int given_half(int lane, int n) const { return (lane >> given & 1) ^ n; }
  constexpr TRIFUSE_HOST_DEVICE int stored_half(int lane, int n) const { return (lane >> stored & 1) ^ n; }
};

/// Returns the exchange between a product with lone hole `from` and one with lone hole `to`, which must differ.
constexpr LaneExchange lane_exchange(int from, int to) {
  // Bit b of the old place of an element is bit of_new[b] of its new place.
  int of_new[lane_bits + 1] = {};
  for (int hole = 0; hole < 3; ++hole) {
    for (int b = 0; b < 2; ++b) of_new[hole_shift(from, hole) + b] = hole_shift(to, hole) + b;
  }
  LaneExchange exchange{{}, -1, -1};
  for (int b = 0; b < lane_bits; ++b) {
    exchange.bit[b] = of_new[b];
    if (of_new[b] != lane_bits) continue;
    // Bit b of the source lane is the half in which the element is stored. In shuffle 0 the source lane gives the half
    // with the same number.
    exchange.given = b;
    exchange.stored = exchange.bit[b] = of_new[lane_bits];
  }
  return exchange;
}

}
