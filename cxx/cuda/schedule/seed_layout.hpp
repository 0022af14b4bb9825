#pragma once

#include <array>
#include <cstdint>

#include "cxx/cuda/schedule/layout.hpp"
#include "cxx/triples/method.hpp"

/// How the seeds of a task lie in device memory. A seed is the derivative of the energy by an element of a target. The
/// triples kernel writes the seeds of a task, and the backward kernel multiplies them with the panels of the task.
///
///     seeds     [target, side, group of i, group of j, group of k, a, b, c, seed_place() or float_seed_place()]
///
/// If both sides have the same operands, there is one side, whose seeds are the sums of those of both; else the left
/// side comes first. An atom has the seeds of 4 x 4 x 4 holes of three particles. The number of c is even: an odd
/// number is followed by one atom without meaning. Every element of the orbital tiles has its seed, also where tiles
/// are equal.
namespace trifuse::gpu {

inline constexpr int seed_atom = hole_group_size * hole_group_size * hole_group_size;

/// Returns the place in an atom of the holes i, j, k, each 0..3 inside its hole group. `odd`: b + c modulo 2. The
/// places are permuted so that the lanes of a warp read fragments of seeds without bank conflicts, whichever hole and
/// whichever particle stands alone.
constexpr TRIFUSE_HOST_DEVICE int seed_place(int i, int j, int k, int odd) {
  const int reversed = (i & 1) << 1 | i >> 1;
  return i * 16 + ((j * 4 + k) ^ (reversed * 4) ^ (odd * 14));
}

/// Returns the place in an atom of floats. All 32 lanes of a warp read different banks, see mixed_backward_kernel.cuh.
constexpr TRIFUSE_HOST_DEVICE int float_seed_place(int i, int j, int k, int odd) {
  const int i0 = i & 1, i1 = i >> 1, j0 = j & 1, j1 = j >> 1, k0 = k & 1, k1 = k >> 1;
  return i1 << 5 | (i1 ^ j1) << 4 | i0 << 3 | (j0 ^ odd) << 2 | k1 << 1 | (k0 ^ odd);
}
/// The bits of float_seed_place() that `odd` changes.
inline constexpr int odd_float_places = 5;

/// The extents of the seeds of a task. `extent`: orbitals of its tiles a, b, c, i, j, k.
struct SeedExtents {
  std::int32_t groups[3];     ///< [i, j, k] hole groups
  std::int32_t particles[3];  ///< [a, b, c]; that of c is even

  constexpr TRIFUSE_HOST_DEVICE explicit SeedExtents(const std::int32_t (&extent)[6])
      : groups{static_cast<std::int32_t>(ceil_div(extent[3], hole_group_size)),
               static_cast<std::int32_t>(ceil_div(extent[4], hole_group_size)),
               static_cast<std::int32_t>(ceil_div(extent[5], hole_group_size))},
        particles{extent[0], extent[1], static_cast<std::int32_t>(ceil_div(extent[2], 2) * 2)} {}
  /// Returns the number of seeds of one target.
  constexpr TRIFUSE_HOST_DEVICE std::int64_t seeds() const {
    return std::int64_t{groups[0]} * groups[1] * groups[2] * particles[0] * particles[1] * particles[2] * seed_atom;
  }
  /// Returns the offset of an atom in its target, seeds. `g`: hole groups. `p`: particles.
  constexpr TRIFUSE_HOST_DEVICE std::int64_t atom(int gi, int gj, int gk, int a, int b, int c) const {
    const std::int64_t holes = (std::int64_t{gi} * groups[1] + gj) * groups[2] + gk;
    return (((holes * particles[0] + a) * particles[1] + b) * particles[2] + c) * seed_atom;
  }
};

/// The orders of three positions: the even ones, then the odd ones.
inline constexpr std::array<std::array<int, 3>, 6> position_orders = {
    {{0, 1, 2}, {1, 2, 0}, {2, 0, 1}, {1, 0, 2}, {2, 1, 0}, {0, 2, 1}}};
/// Returns position_orders[order][q].
constexpr TRIFUSE_HOST_DEVICE int ordered_position(int order, int q) {
  constexpr std::uint64_t packed = [] {
    std::uint64_t bits = 0;
    for (std::size_t n = 18; n-- > 0;) bits = bits << 2 | static_cast<std::uint64_t>(position_orders[n / 3][n % 3]);
    return bits;
  }();
  return static_cast<int>(packed >> (6 * order + 2 * q) & 3);
}

/// Where the seeds that the triples kernel computes stand among the seeds of a task. Let x be the particles a, b, c and
/// y the holes i, j, k of a computed element. The seed of its target n is also the seed of target `target[n]` for the
/// particles x[ordered_position(particle_order, q)] and the holes y[ordered_position(hole_order[n], q)], with the other
/// sign if `negative` is not 0. `target[n]` is `none` if the image has no seed for target n.
struct SeedImage {
  static constexpr std::int8_t none = -1;
  std::int8_t target[6], hole_order[6], particle_order, negative;
};
/// Largest number of images of a task, times the number of targets of an element.
inline constexpr int most_image_targets = 36;

/// The seeds of a task in device memory: doubles, or floats in mixed precision.
struct TaskSeeds {
  void* begin;
  unsigned* largest;           ///< bits of the largest magnitude of a seed of the task; only in mixed precision
  std::int64_t target_stride;  ///< seeds from one target of a side to the next
  std::int32_t images;
  SeedImage image[most_image_targets];
};

/// Where the triples kernel of a run with derivatives puts its results.
struct DerivativeParameters {
  const TaskSeeds* seeds;  ///< [task]
  /// [task, set, vvoo block] address of the integers, which are packed as the numbers of the block; 0: the block
  /// vanishes
  const unsigned long long* vvoo;
  /// [set] integers [hole orbital, particle orbital] over all orbitals
  unsigned long long* ov_tensors[max_disconnected_sets];
  unsigned long long* energies;  ///< integers [orbital]
  double units, energy_units;    ///< 1 divided by the unit of the first two, and of the energies
};

/// One product of a task with its seeds G, of which the backward kernel computes one of two sums:
///
///     left panel    out[p,h,h',x]  += factor sum over u,w,y   G[p,h,h', u,w,y] R[u,w,y,x]
///     right panel   out[u,w,y,x]   += factor sum over p,h,h'  G[p,h,h', u,w,y] L[p,h,h',x]
///
/// p is the particle and y the hole that stand alone in the product; u < w are the positions of the other particles, h
/// < h' those of the other holes. Each sum of a CTA tile is rounded once to an integer.
struct BackwardProduct {
  const void* seeds;            ///< begin of the target of a side; doubles, or floats in mixed precision
  const unsigned* largest;      ///< see TaskSeeds
  const char* panel;            ///< R for a left panel, L for a right panel: packed in the format of the kernel
  unsigned long long* out;      ///< element 0 of the integers of the panel, in the order of the host's panel
  std::int64_t stride[3];       ///< [position] see Packing; strides of `out`
  double factor;                ///< factor of the sums, divided by the unit of the integers
  std::int32_t extent[6];       ///< orbitals of the task's tiles a, b, c, i, j, k
  std::int32_t particle, hole;  ///< positions of the particle and of the hole that stand alone
  std::int32_t left;            ///< not 0: the panel of `out` is a left one
  std::int32_t k_tiles;         ///< k-tiles of `panel`
  std::int32_t begin, end;      ///< contracted indices x that are wanted; others of the same k-tiles are not written
};

/// A part of a BackwardProduct that one CTA computes at a time.
struct BackwardTile {
  std::uint32_t product;  ///< index of the product
  std::uint16_t k_tile;   ///< first k-tile of x
  /// First row: left panel [p, group of h, group of h'], right panel [u, w, group of y].
  std::uint16_t row[3];
};

/// Rows of a BackwardTile. Left panel: 8 p x 4 h x 4 h'. Right panel: 4 u x 8 w x 4 y.
inline constexpr int backward_rows = 128, backward_lone_particles = 8, backward_u = 4, backward_w = 8;

/// The argument of the backward kernel.
struct BackwardParameters {
  const BackwardProduct* products;
  const BackwardTile* tiles;
  std::uint32_t tile_count;
};

}
