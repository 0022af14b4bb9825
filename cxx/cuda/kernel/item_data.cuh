#pragma once

#include "cxx/cuda/kernel/chunk_walk.cuh"
#include "cxx/cuda/schedule/work.hpp"
#include "cxx/triples/task.hpp"

namespace trifuse::gpu {

/// All that a block must know of an item, in shared memory. Particles count those of the box along a, then b, then c;
/// holes are [local, position]. What lies beyond the end of a tile repeats its last orbital.
template <SpinFormulation formulation, typename Config>
struct ItemData {
  static constexpr int targets_of_side = formulation == SpinFormulation::spin_adapted ? 6 : 1;
  static constexpr int terms = formulation == SpinFormulation::spin_adapted ? spin_adapted_pairs : spin_orbital_pairs;

  std::uint32_t number;
  std::int32_t equal_blocks;  ///< see equal_hole_blocks
  std::int32_t targets;       ///< to compute, of each side
  Item item;
  TaskData task;
  double eps_particles[Config::box_particles], eps_holes[box_holes];
  double lone[most_sets][Config::box_particles * box_holes];  ///< t1 and f, hole fastest
  const double* pairs[most_sets * terms];                     ///< as in Work, of this task
  Phase phases[most_sides * targets_of_side * phases_of_target];
  WarpView views[Config::warps];
};

/// Copies `bytes`, a multiple of four, by `threads` threads of which the caller is number `thread`.
__device__ __forceinline__ void copy_words(void* to, const void* from, int bytes, int thread, int threads) {
#pragma unroll 1
  for (int n = thread; n < bytes / 4; n += threads) {
    static_cast<std::uint32_t*>(to)[n] = static_cast<const std::uint32_t*>(from)[n];
  }
}

/// Whether a warp has an element in ascending order.
template <SpinFormulation formulation, typename Config>
__device__ __forceinline__ bool any_canonical(const ItemData<formulation, Config>& data, const WarpPlace& place) {
  constexpr int gap = formulation == SpinFormulation::spin_orbital ? 1 : 0;
  const auto first = [&](int q) { return data.item.particle[q] + place.at[q] * Config::sub(q); };
  bool any = place.inside;
  for (int q = 0; q < 3; ++q) any = any && first(q) < data.task.extent[q];
  for (int q = 0; q < 2; ++q) {
    const int last = min(first(q + 1) + Config::sub(q + 1), data.task.extent[q + 1]) - 1;
    any = any && ((data.task.equal_particles >> q & 1) == 0 || first(q) + gap <= last);
  }
  return any;
}

/// Gathers what a block must know of an item. `synchronise` makes what one of the threads wrote visible to the others.
template <SpinFormulation formulation, typename Config, typename Synchronise>
__device__ __forceinline__ void gather_item(const Work& work, std::uint32_t number, ItemData<formulation, Config>& data,
                                            int thread, int threads, Synchronise synchronise) {
  static_assert(sizeof(Item) % 4 == 0 && sizeof(TaskData) % 4 == 0);
  copy_words(&data.item, &work.items[number], sizeof(Item), thread, threads);
  if (thread == 0) data.number = number;
  synchronise();
  const unsigned task_number = data.item.task;
  copy_words(&data.task, &work.tasks[task_number], sizeof(TaskData), thread, threads);
  copy_words(
      data.phases,
      work.phases + std::size_t{task_number} * static_cast<unsigned>(work.sides * work.targets * phases_of_target),
      work.sides * work.targets * phases_of_target * static_cast<int>(sizeof(Phase)), thread, threads);
  copy_words(data.pairs, work.pairs + std::size_t{task_number} * static_cast<unsigned>(work.sets * work.terms),
             work.sets * work.terms * static_cast<int>(sizeof(double*)), thread, threads);
  synchronise();
  const TaskData& task = data.task;
  const int size_a = box_size<Config>(data.item, 0), size_b = box_size<Config>(data.item, 1);
  const int particles = size_a + size_b + box_size<Config>(data.item, 2);
  const auto particle_orbital = [&](int n) {
    const int q = n < size_a ? 0 : n < size_a + size_b ? 1 : 2;
    const int first = q == 0 ? 0 : q == 1 ? size_a : size_a + size_b;
    return task.offset[q] + min(data.item.particle[q] + n - first, task.extent[q] - 1);
  };
  const auto hole_orbital = [&](int n) {
    const int q = n / hole_block;
    return task.offset[3 + q] + min(data.item.hole_block[q] * hole_block + n % hole_block, task.extent[3 + q] - 1);
  };
  if (thread == 0) {
    data.equal_blocks = equal_hole_blocks(task, data.item);
    data.targets = formulation == SpinFormulation::spin_adapted ? computed_targets(data.equal_blocks) : 1;
  }
  if (thread < Config::warps) {
    const WarpPlace place(data.item, thread);
    data.views[thread] = warp_view<Config>(data.item, place, any_canonical(data, place));
  }
  if (thread < box_holes) data.eps_holes[thread] = work.eps[hole_orbital(thread)];
#pragma unroll 1
  for (int n = thread; n < particles; n += threads) data.eps_particles[n] = work.eps[particle_orbital(n)];
  for (int set = 0; set < work.sets; ++set) {
#pragma unroll 1
    for (int n = thread; n < particles * box_holes; n += threads) {
      data.lone[set][n] =
          work.lone[set][hole_orbital(n % box_holes) + std::int64_t{work.orbitals} * particle_orbital(n / box_holes)];
    }
  }
  synchronise();
}

/// Pair blocks for the energies of a spin-orbital item, in shared memory: a part for each particle x that is alone,
/// each [holes of the pair, w, u, y], y being the hole that is alone, u and w the particles of the pair.
template <typename Config>
struct PairPart {
  static constexpr int block_bytes = hole_block * hole_block * static_cast<int>(sizeof(double));
  int u, w;
  int place;               ///< bytes to the part
  int y_place, row_place;  ///< bytes from one y to the next, and from one u
  int rows, row_bytes;     ///< to fill, for each y

  __device__ __forceinline__ PairPart(const ItemData<SpinFormulation::spin_orbital, Config>& data, int x)
      : u(first_other(x)), w(second_other(x)) {
    const Item& item = data.item;
    const int a = box_size<Config>(item, 0), b = box_size<Config>(item, 1), c = box_size<Config>(item, 2);
    place = 3 * block_bytes * (x == 0 ? 0 : x == 1 ? b * c : b * c + a * c);
    row_place = block_bytes * box_size<Config>(item, w);
    y_place = row_place * box_size<Config>(item, u);
    rows = min(box_size<Config>(item, u), data.task.extent[u] - item.particle[u]);
    row_bytes = block_bytes * min(box_size<Config>(item, w), data.task.extent[w] - item.particle[w]);
  }
  /// First element of a row in device memory.
  __device__ __forceinline__ const double* row(const ItemData<SpinFormulation::spin_orbital, Config>& data,
                                               const double* block, int y, int n) const {
    const int h1 = first_other(y), h2 = second_other(y);
    return block + pair_block(data.item.hole_block[h1], (data.task.extent[3 + h2] + hole_block - 1) / hole_block,
                              data.item.hole_block[h2], data.task.extent[u], data.item.particle[u] + n,
                              data.task.extent[w], data.item.particle[w]);
  }
};

}  // namespace trifuse::gpu
