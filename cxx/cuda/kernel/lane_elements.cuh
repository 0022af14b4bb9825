#pragma once

#include "cxx/cuda/kernel/accumulators.cuh"
#include "cxx/cuda/kernel/cta_tile_data.cuh"
#include "cxx/triples/task.hpp"

namespace trifuse::gpu {

/// Returns the weight of an element with indices x, y, z of one kind. Where orbital tiles are equal, each choice of
/// three orbitals is computed once, with ascending indices. All other elements have weight 0.
///
/// In spin-orbital form elements with two equal indices vanish and have weight 0. In spin-adapted form such an element
/// occurs half as often in the full block, so its weight is 1/2; elements with three equal indices vanish. `equal`: bit
/// 0 is set if x and y have the same tile, bit 1 if y and z have.
template <SpinFormulation formulation>
__device__ __forceinline__ double multiplicity(int equal, int x, int y, int z) {
  const bool xy = (equal & 1) != 0, yz = (equal & 2) != 0;
  if ((xy && x > y) || (yz && y > z)) return 0.0;
  const bool same_xy = xy && x == y, same_yz = yz && y == z;
  if constexpr (formulation == SpinFormulation::spin_orbital) return same_xy || same_yz ? 0.0 : 1.0;
  if (same_xy && same_yz) return 0.0;
  return same_xy || same_yz ? 0.5 : 1.0;
}

/// The elements of a target that a lane holds after the last product of the schedule: all particles (a, b, c) of its
/// warp tile, two values of the halved hole (half 0 and half 1, see accumulator_layout.hpp), and one of the other
/// holes.
template <SpinFormulation formulation, typename Config>
struct LaneElements {
  /// The axes of the last product.
  static constexpr ProductAxes final_axes =
      product_axes<typename Config::Schedule>(product_count<typename Config::Schedule> - 1);

  const CtaTileData<formulation, Config>& data;
  int first[3];        ///< [a, b, c] first particle of the warp tile, inside the orbital tile
  int in_cta[3];       ///< [a, b, c] the same particle, counted as in CtaTileData
  int local[3];        ///< [i, j, k] holes inside their hole groups, for half 0
  unsigned summed[2];  ///< [half] one bit for each (a, b, c), c fastest: 1 if the element contributes to the energies
  static_assert(Config::accumulators / 2 <= 32);

  /// Sets `summed`. Must be called before `summed` is read. `warp`: the lane's warp.
  __device__ __forceinline__ void find_summed(int warp) {
    if constexpr (Config::group_warps > 1) {
      for (int half = 0; half < 2; ++half)
        summed[half] = hole_weight(half) != 0.0 ? data.groups.particles[warp].ascending : 0u;
      return;
    }
    constexpr int elements = Config::accumulators / 2;
    constexpr int gap = formulation == SpinFormulation::spin_orbital ? 1 : 0;
    const auto last = [&](int q) { return first[q] + Config::warp_tile(q) - 1; };
    bool all = true, strict = true;
    for (int q = 0; q < 3; ++q) all = all && last(q) < data.task.extent[q];
    for (int q = 0; q < 2; ++q)
      strict = strict && ((data.task.equal_particles >> q & 1) == 0 || last(q) + gap <= first[q + 1]);
    unsigned particles = ~0u >> (32 - elements);
    if (!all || !strict) {
      particles = 0;
#pragma unroll 1
      for (int n = 0; n < elements; ++n) {
        const int c = n % Config::warp_tile_c, b = n / Config::warp_tile_c % Config::warp_tile_b,
                  a = n / Config::warp_tile_c / Config::warp_tile_b;
        if (particle_weight(a, b, c) != 0.0) particles |= 1u << n;
      }
    }
    for (int half = 0; half < 2; ++half) summed[half] = hole_weight(half) != 0.0 ? particles : 0u;
  }
  /// Returns the bits of `summed` for one a, one half, and `count_b` values of b from `first_b` on; c fastest.
  template <int count_b>
  __device__ __forceinline__ unsigned summed_slice(int a, int first_b, int half) const {
    constexpr int bits = count_b * Config::warp_tile_c;
    return (half == 0 ? summed[0] : summed[1]) >> ((a * Config::warp_tile_b + first_b) * Config::warp_tile_c) &
           (~0u >> (32 - bits));
  }

  __device__ __forceinline__ LaneElements(const CtaTileData<formulation, Config>& d, int warp, int lane) : data(d) {
    if constexpr (Config::group_warps > 1) {
#pragma unroll
      for (int q = 0; q < 3; ++q) {
        local[q] = hole_of_lane(final_axes.hole, q, lane);
        first[q] = data.groups.particles[warp].first[q];
        in_cta[q] = data.groups.particles[warp].in_cta[q];
      }
      return;
    }
    const WarpCoord coord(data.cta_tile, warp);
    int before = 0;
#pragma unroll
    for (int q = 0; q < 3; ++q) {
      local[q] = hole_of_lane(final_axes.hole, q, lane);
      first[q] = data.cta_tile.particle[q] + coord.at[q] * Config::warp_tile(q);
      in_cta[q] = before + coord.at[q] * Config::warp_tile(q);
      before += cta_extent<Config>(data.cta_tile, q);
    }
  }

  /// Returns the index among the lane's accumulators of particles (a, b, c) of the warp tile.
  static constexpr __device__ __forceinline__ int index(int a, int b, int c, int half) {
    return Accumulators<Config>::index(final_axes.particle, a, b, c, half);
  }
  /// Returns the lane's hole at position q, 0..2 for i, j, k, counted inside its hole group.
  __device__ __forceinline__ int local_hole(int q, int half) const {
    return local[q] + (q == halved_hole(final_axes.hole) ? 2 * half : 0);
  }
  /// Returns the lane's hole at position q, counted inside its orbital tile.
  __device__ __forceinline__ int hole(int q, int half) const {
    return data.cta_tile.hole_group[q] * hole_group_size + local_hole(q, half);
  }
  /// Returns particle `n` of the warp tile along position `q`, counted inside its orbital tile. If it lies beyond the
  /// end of the tile, returns the last particle of the tile.
  __device__ __forceinline__ int tile_particle(int q, int n) const {
    return min(first[q] + n, data.task.extent[q] - 1);
  }
  /// eps_particle() returns the orbital energy of one particle, eps_holes() the sum over the lane's three holes, as in
  /// CtaTileData.
  __device__ __forceinline__ ElementNumber<formulation, Config> eps_particle(int q, int n) const {
    return data.eps_particles[in_cta[q] + n];
  }
  __device__ __forceinline__ ElementNumber<formulation, Config> eps_holes(int half) const {
    return data.eps_holes[local_hole(0, half)] + data.eps_holes[hole_group_size + local_hole(1, half)] +
           data.eps_holes[2 * hole_group_size + local_hole(2, half)];
  }
  /// Returns t1 (set 0) or f_ov (set 1) of particle `n` of the warp tile along position x and of the lane's hole at
  /// position y.
  __device__ __forceinline__ ElementNumber<formulation, Config> ov_tensor(int set, int x, int n, int y,
                                                                          int half) const {
    return data.ov_tensors[set][data.ov_index(in_cta[x] + n, y * hole_group_size + local_hole(y, half))];
  }

  /// Returns multiplicity() of the particles; 0 beyond the end of an orbital tile.
  __device__ __forceinline__ double particle_weight(int a, int b, int c) const {
    const int x = first[0] + a, y = first[1] + b, z = first[2] + c;
    const TaskData& task = data.task;
    if (x >= task.extent[0] || y >= task.extent[1] || z >= task.extent[2]) return 0.0;
    return multiplicity<formulation>(task.equal_particles, x, y, z);
  }
  __device__ __forceinline__ double hole_weight(int half) const {
    const int x = hole(0, half), y = hole(1, half), z = hole(2, half);
    const TaskData& task = data.task;
    if (x >= task.extent[3] || y >= task.extent[4] || z >= task.extent[5]) return 0.0;
    return multiplicity<formulation>(task.equal_holes, x, y, z);
  }
};

}
