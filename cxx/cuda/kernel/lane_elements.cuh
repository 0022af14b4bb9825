#pragma once

#include "cxx/cuda/kernel/item_data.cuh"
#include "cxx/triples/task.hpp"

namespace trifuse::gpu {

/// Where tiles coincide, every set of orbitals is computed once, in ascending order. This says for how many sets of a
/// full block an element in ascending order stands: a pair of equal indices vanishes in spin-orbital form; in the
/// spin-adapted one it stands for half as many elements, and three equal indices vanish. 0 for all other elements.
template <SpinFormulation formulation>
__device__ __forceinline__ double multiplicity(int equal, int x, int y, int z) {
  const bool xy = (equal & 1) != 0, yz = (equal & 2) != 0;
  if ((xy && x > y) || (yz && y > z)) return 0.0;
  const bool same_xy = xy && x == y, same_yz = yz && y == z;
  if constexpr (formulation == SpinFormulation::spin_orbital) return same_xy || same_yz ? 0.0 : 1.0;
  if (same_xy && same_yz) return 0.0;
  return same_xy || same_yz ? 0.5 : 1.0;
}

/// The elements of a lane at the end: (a, b, c) anywhere in the warp's sub-box, one i, one k and two j (half h = 0, 1).
template <SpinFormulation formulation, typename Config>
struct LaneElements {
  const ItemData<formulation, Config>& data;
  int first[3];      ///< first particle of the sub-box, inside the tile
  int in_box[3];     ///< the same among the particles of the box, see ItemData
  int local[3];      ///< i, j of half 0, k inside their hole blocks
  unsigned used[2];  ///< of each half, one bit for each (a, b, c): whether the element is one of those to be summed
  static_assert(Config::accumulators / 2 <= 32);

  __device__ __forceinline__ void find_used() {
    constexpr int elements = Config::accumulators / 2;
    constexpr int gap = formulation == SpinFormulation::spin_orbital ? 1 : 0;
    const auto last = [&](int q) { return first[q] + Config::sub(q) - 1; };
    bool all = true, strict = true;
    for (int q = 0; q < 3; ++q) all = all && last(q) < data.task.extent[q];
    for (int q = 0; q < 2; ++q)
      strict = strict && ((data.task.equal_particles >> q & 1) == 0 || last(q) + gap <= first[q + 1]);
    unsigned particles = ~0u >> (32 - elements);
    if (!all || !strict) {
      particles = 0;
#pragma unroll 1
      for (int n = 0; n < elements; ++n) {
        const int c = n % Config::sub_c, b = n / Config::sub_c % Config::sub_b, a = n / Config::sub_c / Config::sub_b;
        if (particle_weight(a, b, c) != 0.0) particles |= 1u << n;
      }
    }
    for (int half = 0; half < 2; ++half) used[half] = hole_weight(half) != 0.0 ? particles : 0u;
  }
  /// Bits of the elements of one a and one half, `count_b` of b; c fastest.
  template <int count_b>
  __device__ __forceinline__ unsigned used_slice(int a, int first_b, int half) const {
    constexpr int bits = count_b * Config::sub_c;
    return (half == 0 ? used[0] : used[1]) >> ((a * Config::sub_b + first_b) * Config::sub_c) & (~0u >> (32 - bits));
  }

  __device__ __forceinline__ LaneElements(const ItemData<formulation, Config>& d, const WarpPlace& place, int lane)
      : data(d) {
    local[0] = lane & 3;
    local[1] = lane >> 4;
    local[2] = lane >> 2 & 3;
    int before = 0;
#pragma unroll
    for (int q = 0; q < 3; ++q) {
      first[q] = data.item.particle[q] + place.at[q] * Config::sub(q);
      in_box[q] = before + place.at[q] * Config::sub(q);
      before += box_size<Config>(data.item, q);
    }
  }

  __device__ __forceinline__ int local_hole(int q, int half) const {
    return local[q] + (q == 1 ? 2 * half : 0);
  }
  __device__ __forceinline__ int hole(int q, int half) const {
    return data.item.hole_block[q] * hole_block + local_hole(q, half);
  }
  /// Inside the tile; beyond its end the last one.
  __device__ __forceinline__ int tile_particle(int q, int n) const {
    return min(first[q] + n, data.task.extent[q] - 1);
  }
  __device__ __forceinline__ double eps_particle(int q, int n) const {
    return data.eps_particles[in_box[q] + n];
  }
  __device__ __forceinline__ double eps_holes(int half) const {
    return data.eps_holes[local[0]] + data.eps_holes[hole_block + local_hole(1, half)] +
           data.eps_holes[2 * hole_block + local[2]];
  }
  /// Factor of particle n of position x and the lane's hole of position y.
  __device__ __forceinline__ double lone(int set, int x, int n, int y, int half) const {
    return data.lone[set][(in_box[x] + n) * box_holes + y * hole_block + local_hole(y, half)];
  }

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

}  // namespace trifuse::gpu
