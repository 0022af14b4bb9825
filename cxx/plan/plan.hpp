#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cxx/triples/task.hpp"
#include "tce_tiles/tiles/tile_sizes.hpp"

#pragma GCC visibility push(default)

namespace trifuse {

/// The tasks of a calculation and their costs.
struct Plan {
  SpinFormulation formulation = SpinFormulation::spin_orbital;
  TileSpace tiles;
  std::vector<Task> tasks;         ///< in NWChem's loop order
  std::vector<double> operations;  ///< [task]: floating-point operations of all sides, see `contraction_operations`
  double total_operations = 0.0;   ///< sum over all tasks

  /// Returns the numbers of all tasks, the most expensive first. So no worker begins a long task when the others have
  /// finished.
  std::vector<std::size_t> largest_first() const;
};

/// Lists all tasks of a tile space. If the list could be too long, call `require_listable` first. `sides`: see
/// Problem::sides().
Plan make_plan(const TileSpace& tiles, SpinFormulation formulation, int sides = 1);

/// Estimates the number of tasks of a tile space without listing them.
double estimated_tasks(const TileSpace& tiles, SpinFormulation formulation);
/// Memory that a plan needs for one task and its energies, bytes.
inline constexpr double bytes_per_task = 200.0;

/// Checks that the tasks of a tile space can be listed. Throws UsageError if there are more than about `max_tasks`
/// tasks, or if `enumerate_tasks` would need minutes because it must look at too many sextets of tiles.
void require_listable(const TileSpace& tiles, SpinFormulation formulation, double max_tasks);

/// How orbitals are divided into tiles. The tiling determines the tasks.
struct Tiling {
  TileSizes sizes;       ///< largest number of orbitals in a tile of holes and in a tile of particles
  bool aligned = false;  ///< true: by `TileSpace::retiled_aligned` with `tile_granule`; false: by `TileSpace::retiled`
  bool operator==(const Tiling&) const = default;
};

/// Kernels work in steps of this many orbitals. An aligned tiling rounds larger tile sizes down to a multiple, and only
/// the last tile of an orbital range has another size.
inline constexpr std::int64_t tile_granule = 4;

/// Returns the tiling of a run on GPUs or on CPU cores. `size`: the tile size that the user chose; nullopt: default
/// sizes. All are aligned but a size that the user chose for CPU cores.
///
/// On CPU cores, default tiles are small enough for load balance and for a journal, and if possible large enough for at
/// most about 500000 tasks. On GPUs, tiles need not be small for load balance, because kernels divide tasks further.
/// Their size is 32 for particles. For holes it is the smallest multiple of `tile_granule` in 12..24 that gives the
/// least number of hole tiles, so that few tiles are nearly empty.
///
/// `has_sample`: true for a run in mixed precision. If it would have few tasks, of which the sample were a large part,
/// particles have the size 24 on GPUs.
Tiling default_tiling(const TileSpace& orbitals, SpinFormulation formulation, bool for_gpus,
                      std::optional<std::int64_t> size = {}, bool has_sample = false);
/// Divides the orbitals of a tile space into new tiles. Throws UsageError if a tile size is less than 1.
TileSpace retile(const TileSpace& orbitals, const Tiling& tiling);

/// Returns the largest Delta = e_i + e_j + e_k - e_a - e_b - e_c over all triple excitations that spin, symmetry and
/// antisymmetry allow, hartree; minus infinity if there are none. The triples correction exists if Delta - 3 omega2 is
/// negative for all of them. `orbital_energies`: [orbital] in the sorted order, hartree.
double largest_denominator(const TileSpace& tiles, std::span<const double> orbital_energies);

}

#pragma GCC visibility pop
