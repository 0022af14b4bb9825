#pragma once

#include <array>
#include <cstdint>

#include "cxx/cuda/schedule/layout.hpp"
#include "cxx/cuda/schedule/product_schedule.hpp"
#include "cxx/cuda/schedule/seed_layout.hpp"
#include "cxx/triples/contraction_list.hpp"
#include "cxx/triples/quotient.hpp"

/// The parameters of a kernel launch. All pointers point into device memory. Shapes are in C order: the last index is
/// the fastest.
namespace trifuse::gpu {

/// One product of one target. A and B are packed panels; they are null if the product vanishes.
struct KernelProduct {
  const void* a;         ///< left panel (p, h, h') in which p stands alone
  const void* b;         ///< right panel (p, p', h) in which h stands alone
  std::int32_t k_steps;  ///< instructions along the contracted index; 0 if the product vanishes
  std::int32_t padding;
};

/// A task: six orbital tiles at the positions a, b, c, i, j, k.
struct TaskData {
  std::int32_t extent[6];        ///< orbitals of each tile
  std::int32_t offset[6];        ///< first orbital of each tile
  std::int32_t equal_particles;  ///< bit 0: a and b have the same tile; bit 1: b and c have
  std::int32_t equal_holes;      ///< bit 0: i and j have the same tile; bit 1: j and k have
  std::int64_t first_cta_tile;   ///< index of the task's first CTA tile in the launch
  std::int64_t cta_tiles;        ///< number of the task's CTA tiles, which are contiguous
  double weight;                 ///< weight of the task, by which all its energies are multiplied
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
  task.weight = 1.0;
  return task;
}

/// The part of a task that one CTA computes at a time, see cta_tiles.hpp.
struct CtaTile {
  std::uint32_t task;          ///< index in the launch
  std::uint16_t particle[3];   ///< [a, b, c] first particle inside its orbital tile
  std::uint8_t warps[3];       ///< [a, b, c] number of warp tiles
  std::uint8_t hole_group[3];  ///< [i, j, k] hole group inside the orbital tile
};
/// Largest number of holes in an orbital tile: CtaTile::hole_group has 8 bits.
inline constexpr int max_holes = 256 * hole_group_size;

/// Number of energy sums of a warp for each omega2. Their order is that of energy_sums().
inline constexpr int spin_orbital_sums = energy_sums(SpinFormulation::spin_orbital);
inline constexpr int spin_adapted_sums = energy_sums(SpinFormulation::spin_adapted);
/// Number of vvoo blocks of a task for each set. Their order is that of the indices of t1 or f_ov: [particle, hole] in
/// spin-orbital form, [particle, target] in spin-adapted form.
inline constexpr int spin_orbital_vvoo_blocks = disconnected_terms(SpinFormulation::spin_orbital);
inline constexpr int spin_adapted_vvoo_blocks = disconnected_terms(SpinFormulation::spin_adapted);

inline constexpr int cta_holes = 3 * hole_group_size;  ///< holes of a CTA tile, summed over i, j and k

/// Returns which hole groups of a CTA tile are the same group of the same orbital tile. Bit 0: i and j have the same
/// group. Bit 1: j and k have the same group.
constexpr TRIFUSE_HOST_DEVICE int equal_hole_groups(const TaskData& task, const CtaTile& cta_tile) {
  return ((task.equal_holes & 1) != 0 && cta_tile.hole_group[0] == cta_tile.hole_group[1] ? 1 : 0) |
         ((task.equal_holes & 2) != 0 && cta_tile.hole_group[1] == cta_tile.hole_group[2] ? 2 : 0);
}

/// Returns the number of spin-adapted targets that are computed for a CTA tile. `equal_groups`: see
/// equal_hole_groups().
///
/// An element of target t depends only on which hole each particle has: particle q has hole x_assignments[t][q]. So if
/// hole groups are equal, later targets are earlier ones with exchanged holes, and only the first targets are computed.
constexpr TRIFUSE_HOST_DEVICE int computed_targets(int equal_groups) {
  return equal_groups == 0 ? 6 : equal_groups == 3 ? 1 : 3;
}
/// How target t is read from a computed target: W_t(x_0, x_1, x_2) = W_target(y_0, y_1, y_2) with y_p = x_order[p]. x
/// are the holes i, j, k.
struct TargetSource {
  int target;    ///< number of the computed target
  int order[3];  ///< order of the holes
};
/// Returns the computed target from which target `t`, 0..5, is read.
constexpr TRIFUSE_HOST_DEVICE TargetSource target_source(int equal_groups, int t) {
  constexpr auto holes_of = assignments;
  if (equal_groups == 3) {
    const auto& order = holes_of[static_cast<std::size_t>(t)];
    return {0, {order[0], order[1], order[2]}};
  }
  if (equal_groups == 0 || t < 3) return {t, {0, 1, 2}};
  if (equal_groups == 1) return {t == 3 ? 0 : t == 4 ? 2 : 1, {1, 0, 2}};
  return {5 - t, {0, 2, 1}};
}

/// Where a warp finds its operands in a stage. The index of the arrays is the particle that stands alone in A.
struct WarpView {
  std::int32_t a[3];    ///< bytes from the begin of the stage to the warp's A
  std::int32_t b[3];    ///< bytes from the begin of the stage to the warp's B
  std::int32_t row[3];  ///< bytes from one row of B to the next
  std::int32_t active;  ///< not 0 if the warp has elements to compute
  /// Not 0 if the warp multiplies, because it, or a warp that multiplies together with it, has elements to compute. If
  /// warps multiply together, 1 means that they need only the first half of the values of b: the others lie beyond the
  /// end of the orbital tile.
  std::int32_t multiplies;
};

/// What a kernel computes of finished targets.
enum class EnergyKind : std::uint8_t {
  one_side,   ///< quotients by Delta - 3 omega2; both sides have the same operands
  two_sides,  ///< the same with two sides
  quotients,  ///< any quotients, with two sides
  quotients_of_three_sides,
  seeds,               ///< as one_side for one omega2, and derivatives
  seeds_of_two_sides,  ///< as two_sides for one omega2, and derivatives
};

/// The tables of TripleDenominators in device memory. Holes are the fastest indices, because the lanes of a warp have
/// neighbouring holes.
struct DeviceTables {
  struct Terms {
    const double* hh;   ///< [i,j]
    const double* pp;   ///< [a,b]
    const double* hp;   ///< [a,i]
    const double* hhp;  ///< [a,i,j]
    const double* hpp;  ///< [a,b,i]
  };
  const double* h;       ///< [i]; null: there are no tables
  const double* p;       ///< [a]
  Terms same, opposite;  ///< of equal and of opposite spins; null as in TripleDenominators
  std::int64_t holes, particles;
  std::int32_t first_particle;  ///< number of the first particle among the orbitals of the space
};

/// The argument of a kernel.
struct KernelParameters {
  const TaskData* tasks;          ///< [task]
  const KernelProduct* products;  ///< [task, side, target, particle, hole]; left sides come first
  const double* const* vvoo;      ///< [task, set, vvoo block] packed blocks; blocks that vanish point to zeros
  const CtaTile* cta_tiles;       ///< [CTA tile]
  const double* eps;              ///< [orbital] orbital energies, hartree
  const double* omega2;           ///< [omega2] regularisation parameters, hartree
  const double*
      ov_tensors[max_sets];   ///< [particle orbital, hole orbital] over all orbitals: t1 or f_ov, see DisconnectedSet
  const Quotient* quotients;  ///< [omega2]; of EnergyKind::quotients, which does not read `omega2`
  DeviceTables tables;
  DerivativeParameters derivatives;  ///< of EnergyKind::seeds and seeds_of_two_sides
  double* warp_sums;                 ///< result of the epilogue: [CTA tile, omega2, warp, sum] energies, hartree
  void* scratch;                     ///< [CTA, side, target, accumulator, thread] accumulators of the Precision
  std::uint32_t* next_cta_tile;      ///< counter of CTA tiles that have been taken, see fetch_cta_tile(); 0 at launch
  std::uint32_t cta_tile_count;      ///< CTA tiles of the launch
  std::int32_t orbitals;             ///< number of orbitals of the space, holes and particles
  std::int32_t omega2_count;         ///< number of values in `omega2`, or of quotients
  std::int32_t sets;                 ///< number of sets of disconnected triples, see Problem::disconnected_sets()
  /// [left side] number of the set after those of S of this side, see Problem::sets_end(); for any quotients.
  std::int32_t sets_end[max_left_sides];
  std::int32_t sides;          ///< 1, or 2 or 3 if left and right amplitudes differ
  std::int32_t targets;        ///< number of targets of each side, see targets_per_side()
  std::int32_t vvoo_per_set;   ///< vvoo blocks of a task for each set
  std::uint32_t product_sign;  ///< the sign bit 0x80000000 if products have signs (spin-orbital form), else 0
};

}
