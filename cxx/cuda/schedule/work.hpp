#pragma once

#include <array>
#include <cstdint>

#include "cxx/cuda/schedule/layout.hpp"
#include "cxx/cuda/schedule/phases.hpp"
#include "cxx/triples/contraction_list.hpp"

/// What a launch is told. Everything here lies in device memory.
namespace trifuse::gpu {

/// One product of one target: A and B are packed panels, or nothing where the product vanishes.
struct Phase {
  const void* a;       ///< left panel (p, h, h'), p alone
  const void* b;       ///< right panel (p, p', h), h alone
  std::int32_t steps;  ///< instructions along the inner index; 0 where the product vanishes
  std::int32_t padding;
};

/// A sextet of tiles, positions a, b, c, i, j, k.
struct TaskData {
  std::int32_t extent[6];
  std::int32_t offset[6];          ///< first orbital of each tile
  std::int32_t equal_particles;    ///< bit 0: tiles a = b, bit 1: b = c
  std::int32_t equal_holes;        ///< bit 0: tiles i = j, bit 1: j = k
  std::int64_t first_item, items;  ///< this task's items of the launch
  double factor;                   ///< of every canonical element
};

/// A task whose tiles are all the orbitals there are, one after the other.
constexpr TaskData lone_task(const std::array<std::int32_t, 6>& extent) {
  TaskData task{};
  std::int32_t orbitals = 0;
  for (std::size_t q = 0; q < 6; ++q) {
    task.extent[q] = extent[q];
    task.offset[q] = orbitals;
    orbitals += extent[q];
  }
  task.factor = 1.0;
  return task;
}

/// A block's piece of a task: `warps` sub-boxes of particles from (a, b, c) on, times one block of each hole tile.
struct Item {
  std::uint32_t task;
  std::uint16_t particle[3];   ///< first a, b, c inside their tiles
  std::uint8_t warps[3];       ///< sub-boxes along a, b, c
  std::uint8_t hole_block[3];  ///< of i, j, k
};

/// Sums of a warp for each omega2.
inline constexpr int spin_orbital_sums = 2;  ///< E[T], E(T)
inline constexpr int spin_adapted_sums = 4;  ///< E[T], E(T) and the same-spin part of both
/// Pair blocks of a task for each set of disconnected factors: spin-orbital [hole, particle], both alone; spin-adapted
/// [target, particle alone].
inline constexpr int spin_orbital_pairs = disconnected_terms(SpinFormulation::spin_orbital);
inline constexpr int spin_adapted_pairs = disconnected_terms(SpinFormulation::spin_adapted);

inline constexpr int most_sides = 2;
inline constexpr int most_sets = 2;
inline constexpr int box_holes = 3 * hole_block;

/// Which pairs of an item's hole blocks are the same block of one tile: bit 0 those of i and j, bit 1 those of j and k.
constexpr TRIFUSE_HOST_DEVICE int equal_hole_blocks(const TaskData& task, const Item& item) {
  return ((task.equal_holes & 1) != 0 && item.hole_block[0] == item.hole_block[1] ? 1 : 0) |
         ((task.equal_holes & 2) != 0 && item.hole_block[1] == item.hole_block[2] ? 2 : 0);
}

/// Where hole blocks are equal, spin-adapted targets are each other with holes interchanged, and only the first ones
/// are computed, over all orders of the holes: W_t(x_i, x_j, x_k) = W_source(y), y_p = x_order[p]. It is so because a
/// target's number depends on nothing but the hole that each particle has, x_assignments[t][q] for particle q.
constexpr TRIFUSE_HOST_DEVICE int computed_targets(int equal_blocks) {
  return equal_blocks == 0 ? 6 : equal_blocks == 3 ? 1 : 3;
}
struct TargetSource {
  int target;
  int order[3];
};
constexpr TRIFUSE_HOST_DEVICE TargetSource target_source(int equal_blocks, int t) {
  constexpr auto holes_of = assignments;
  if (equal_blocks == 3) {
    const auto& order = holes_of[static_cast<std::size_t>(t)];
    return {0, {order[0], order[1], order[2]}};
  }
  if (equal_blocks == 0 || t < 3) return {t, {0, 1, 2}};
  if (equal_blocks == 1) return {t == 3 ? 0 : t == 4 ? 2 : 1, {1, 0, 2}};
  return {5 - t, {0, 2, 1}};
}

/// What a warp must know of its item while it multiplies.
struct WarpView {
  std::int32_t a[3], b[3], row[3];  ///< for each particle alone: bytes in a stage to A, to B, and between rows of B
  std::int32_t active;              ///< whether the warp has elements to compute
};

/// The argument of a kernel.
struct Work {
  const TaskData* tasks;
  const Phase* phases;  ///< [9, target, side, task], in `phase_order`
  const double* const*
      pairs;  ///< packed pairs [terms, sets, task]; terms are those of the form; zeros where there are none
  const Item* items;
  const double* eps;  ///< orbital energies, hartree
  const double* omega2;
  const double*
      lone[most_sets];       ///< t1 and, with Fock in the singles, f: [hole, particle] over all orbitals, hole fastest
  double* sums;              ///< [sums of the form, warp, omega2, item]
  double* scratch;           ///< [thread, accumulator, target, block]
  std::uint32_t* next_item;  ///< zero at launch
  std::uint32_t items_count;
  std::int32_t orbitals;
  std::int32_t omega2_count;
  std::int32_t sets;         ///< disconnected factors: 1 or 2
  std::int32_t sides;        ///< 1, or 2 where left and right amplitudes differ
  std::int32_t targets;      ///< of a side: 1 or 6
  std::int32_t terms;        ///< pair blocks of a task for each set of disconnected factors
  std::uint32_t phase_sign;  ///< sign bit where signs alternate from phase to phase: spin-orbital form
};

}  // namespace trifuse::gpu
