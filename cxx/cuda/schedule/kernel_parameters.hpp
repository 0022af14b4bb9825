#pragma once

#include <array>
#include <cstdint>

#include "cxx/cuda/schedule/layout.hpp"
#include "cxx/cuda/schedule/product_schedule.hpp"
#include "cxx/triples/contraction_list.hpp"

/// The parameters of a kernel launch. All pointers point into device memory. Shapes are in C order: the last index is
/// the fastest.
namespace trifuse::gpu {

/// One product of one target. A and B are packed panels; they are null if the product vanishes.
struct KernelProduct {
  const void* a;         ///< left panel (p, h, h'), p alone
  const void* b;         ///< right panel (p, p', h), h alone
  std::int32_t k_steps;  ///< instructions along the contracted index; 0 if the product vanishes
  std::int32_t padding;
};

/// A task: six orbital tiles at the positions a, b, c, i, j, k.
struct TaskData {
  std::int32_t extent[6];        ///< orbitals of each tile
  std::int32_t offset[6];        ///< first orbital of each tile
  std::int32_t equal_particles;  ///< bit 0: the tiles of a and b coincide; bit 1: those of b and c
  std::int32_t equal_holes;      ///< bit 0: the tiles of i and j coincide; bit 1: those of j and k
  std::int64_t first_cta_tile;   ///< index of the task's first CTA tile in the launch
  std::int64_t cta_tiles;        ///< number of the task's CTA tiles, which are contiguous
  double factor;                 ///< of all energies of the task
};

/// Returns a task that is alone in its orbital space: its six tiles, of `extent` [a, b, c, i, j, k] orbitals, follow
/// each other.
constexpr TaskData single_task(const std::array<std::int32_t, 6>& extent) {
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

/// The part of a task that one CTA computes at a time, see cta_tiles.hpp.
struct CtaTile {
  std::uint32_t task;          ///< index in the launch
  std::uint16_t particle[3];   ///< [a, b, c] first particle inside its orbital tile
  std::uint8_t warps[3];       ///< [a, b, c] number of warp tiles
  std::uint8_t hole_block[3];  ///< [i, j, k] block of `hole_block` holes inside the orbital tile
};
/// Largest number of holes in an orbital tile. CtaTile::hole_block cannot number more blocks.
inline constexpr int max_holes = 256 * hole_block;

/// Energy sums of a warp for each omega2, in the order of energy_sums().
inline constexpr int spin_orbital_sums = energy_sums(SpinFormulation::spin_orbital);
inline constexpr int spin_adapted_sums = energy_sums(SpinFormulation::spin_adapted);
/// Number of vvoo blocks of a task for each set of disconnected factors. They are ordered by the indices of the t1 or
/// f_ov factor: [particle, hole] in spin-orbital form, [particle, target] in spin-adapted form.
inline constexpr int spin_orbital_vvoo_blocks = disconnected_terms(SpinFormulation::spin_orbital);
inline constexpr int spin_adapted_vvoo_blocks = disconnected_terms(SpinFormulation::spin_adapted);

inline constexpr int max_sides = 2;  ///< left and right amplitudes
inline constexpr int max_sets = max_disconnected_sets;
inline constexpr int cta_holes = 3 * hole_block;  ///< holes of a CTA tile, summed over i, j and k

/// Says which hole blocks of a CTA tile are the same block of one orbital tile. Bit 0: those of i and j. Bit 1: those
/// of j and k.
constexpr TRIFUSE_HOST_DEVICE int equal_hole_blocks(const TaskData& task, const CtaTile& cta_tile) {
  return ((task.equal_holes & 1) != 0 && cta_tile.hole_block[0] == cta_tile.hole_block[1] ? 1 : 0) |
         ((task.equal_holes & 2) != 0 && cta_tile.hole_block[1] == cta_tile.hole_block[2] ? 2 : 0);
}

/// Returns the number of spin-adapted targets that are computed for a CTA tile. `equal_blocks`: see
/// equal_hole_blocks().
///
/// An element of target t depends only on the hole of each particle: particle q has hole x_assignments[t][q]. If hole
/// blocks are equal, a later target is therefore an earlier one with holes exchanged, and only the first targets are
/// computed.
constexpr TRIFUSE_HOST_DEVICE int computed_targets(int equal_blocks) {
  return equal_blocks == 0 ? 6 : equal_blocks == 3 ? 1 : 3;
}
/// Target t is W_t(x_0, x_1, x_2) = W_target(y_0, y_1, y_2) with y_p = x_order[p]; x are the holes i, j, k.
struct TargetSource {
  int target;    ///< a computed one
  int order[3];  ///< of the holes
};
/// Returns the computed target from which target `t`, 0..5, is read.
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

/// Where a warp finds its operands in a stage. The index of the arrays is the particle that stands alone in A.
struct WarpView {
  std::int32_t a[3];    ///< bytes from the begin of the stage to the warp's A
  std::int32_t b[3];    ///< bytes from the begin of the stage to the warp's B
  std::int32_t row[3];  ///< bytes from one row of B to the next
  std::int32_t active;  ///< not 0 if the warp has elements to compute
  /// Not 0 if the warp multiplies: it, or a warp that multiplies together with it, has elements to compute. For warps
  /// that multiply together, 1 means the first half of the values of b alone, because the others lie beyond the end of
  /// the orbital tile.
  std::int32_t multiplies;
};

/// The argument of a kernel.
struct KernelParameters {
  const TaskData* tasks;          ///< [task]
  const KernelProduct* products;  ///< [task, side, target, particle, hole]; side 0 is left if there are two
  const double* const* vvoo;      ///< [task, set, vvoo block] packed blocks; blocks that vanish point to zeros
  const CtaTile* cta_tiles;       ///< [CTA tile]
  const double* eps;              ///< [orbital] orbital energies, hartree
  const double* omega2;           ///< [omega2] regularisation parameters, hartree
  const double*
      ov_factors[max_sets];  ///< [particle orbital, hole orbital] over all orbitals: t1 or f_ov, see DisconnectedSet
  double* warp_sums;         ///< result of the epilogue: [CTA tile, omega2, warp, sum] energies, hartree
  void* scratch;             ///< [CTA, side, target, accumulator, thread] accumulators of the Precision
  std::uint32_t* next_cta_tile;  ///< counter of CTA tiles that have been taken, see fetch_cta_tile(); 0 at launch
  std::uint32_t cta_tile_count;  ///< CTA tiles of the launch
  std::int32_t orbitals;         ///< of the orbital space, holes and particles
  std::int32_t omega2_count;     ///< values in `omega2`
  std::int32_t sets;             ///< of disconnected factors: 1 or 2
  std::int32_t sides;            ///< 1, or 2 if left and right amplitudes differ
  std::int32_t targets;          ///< of each side, see targets_per_side()
  std::int32_t vvoo_per_set;     ///< vvoo blocks of a task for each set
  std::uint32_t product_sign;    ///< the sign bit 0x80000000 if products have signs (spin-orbital form), else 0
};

}
