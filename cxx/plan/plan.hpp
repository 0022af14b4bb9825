#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cxx/triples/task.hpp"
#include "tce_tiles/tile_sizes.hpp"

namespace trifuse {

/// What is to be done, before anything is computed.
struct Plan {
  SpinFormulation formulation = SpinFormulation::spin_orbital;
  TileSpace tiles;
  std::vector<Task> tasks;         ///< in NWChem's order
  std::vector<double> operations;  ///< of each task's matrix products, a multiply and an add counted as two
  double total_operations = 0.0;

  /// Task numbers, most expensive first, so that no worker begins a long task when the others are done.
  std::vector<std::size_t> largest_first() const;
};

Plan make_plan(const TileSpace& tiles, SpinFormulation formulation);

/// Roughly the number of tasks of a space, and the memory that each takes in a plan and its energies; to be asked
/// before a plan is made that could be too long.
double estimated_tasks(const TileSpace& tiles, SpinFormulation formulation);
inline constexpr double bytes_per_task = 200.0;

/// Throws UsageError where `enumerate_tasks` would look at so many sextets of tiles that it takes minutes, or where
/// there are more than `most_tasks` of them: before anything is listed.
void require_listable(const TileSpace& tiles, SpinFormulation formulation, double most_tasks);

/// Tile sizes for holes and particles that a CPU run uses unless told otherwise: small enough for balance and a
/// journal, and not so small that the list of tasks becomes a burden.
TileSizes default_tile_sizes(const TileSpace& tiles, SpinFormulation formulation);

/// How tiles are cut from a list of runs: by `TileSpace::retiled`, or by `retiled_aligned` with `cuda_granule`. It
/// decides which tasks there are.
struct Tiling {
  TileSizes sizes;
  bool aligned = false;
  bool operator==(const Tiling&) const = default;
};

/// Tile sizes for GPUs, to be cut by `TileSpace::retiled_aligned` with `cuda_granule`. Kernels cut tasks into small
/// boxes themselves, so tiles need not be small for balance: particles 32, and for holes the smallest multiple of the
/// granule in 12..24 that gives the least number of hole tiles over all runs, so that few tiles are left nearly empty.
TileSizes default_cuda_tile_sizes(const TileSpace& tiles);
inline constexpr std::int64_t cuda_granule = 4;

/// Which of the two a run has, and with tiles of `size` where that is given.
Tiling default_tiling(const TileSpace& orbitals, SpinFormulation formulation, bool for_gpus,
                      std::optional<std::int64_t> size = {});
TileSpace retile(const TileSpace& orbitals, const Tiling& tiling);

/// The largest Delta = e_i + e_j + e_k - e_a - e_b - e_c over all triple excitations that spin, symmetry and
/// antisymmetry allow; minus infinity if there are none. A correction exists where Delta - 3 omega2 is negative
/// everywhere.
double largest_denominator(const TileSpace& tiles, std::span<const double> orbital_energies);

}  // namespace trifuse
