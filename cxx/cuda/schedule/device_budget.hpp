#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "cxx/cuda/schedule/configuration.hpp"
#include "cxx/cuda/schedule/layout.hpp"
#include "cxx/triples/problem.hpp"
#include "tce_tiles/tiles/tile_space.hpp"

/// How a run divides the memory of a GPU. The executor and the prediction call these functions; tests run them without
/// a GPU. All amounts without a unit are bytes.
///
///     free memory = reserve + budget
///     budget      = workers * worker_bytes + panel_slots() * PanelDemand::slot + panel_bytes
///                   + PanelDemand::made_rows + slab_bytes                     (both are 0 without factors)
namespace trifuse::gpu {

/// Limits for the number of workers of a device. With large tasks the smaller number keeps the device busy. A GPU
/// computes small tasks faster than one CPU core prepares them. So there are more workers if their buffers fit into a
/// tenth of the budget.
inline constexpr std::int64_t fewest_workers = 3, max_workers = 8;
/// Limits for the number of pinned buffers through which panels go to a device. Each pinned buffer has a buffer of the
/// same size on the device.
inline constexpr std::int64_t fewest_panel_slots = 3, most_panel_slots = 12;
/// Memory of each worker for the program, the CTA tiles and the sums of a launch with one omega2. With more values of
/// omega2 it needs sum_bytes() in addition.
inline constexpr std::int64_t launch_bytes = std::int64_t{192} << 20;
/// A launch is full if its CTA tiles are more than this number divided by the number of omega2. No more tasks are added
/// to a full launch.
inline constexpr std::size_t max_cta_tiles = 400000;
/// Numbers of orbitals of the largest tiles. The executor cuts larger tiles, because a launch has no room for the CTA
/// tiles of their tasks.
inline constexpr std::int64_t largest_hole_tile = 32, largest_particle_tile = 64;

/// Returns the memory that a run may use on a device, without the reserve for the driver and for other programs.
/// `free`: the free memory. `allowed`: the limit of the user; 0: none. The result is negative if the reserve does not
/// fit.
std::int64_t device_budget(std::int64_t free, std::int64_t allowed);

/// Returns the size of the scratch memory of a launch, doubles. `targets`: number of targets of all sides together, as
/// Problem::targets() returns it. `cta_elements`: see Shape.
std::int64_t scratch_doubles(int multiprocessors, int targets, int cta_elements);
/// Returns the memory of a worker for the sums of a launch beyond `launch_bytes`: the sums of the largest task of
/// `tiles` for all omega2 but the first one. `shapes`: the shapes of the kernels that may compute the task.
std::int64_t sum_bytes(const Problem& problem, const TileSpace& tiles, std::span<const Shape> shapes);
/// Returns the memory of a worker. `scratch_doubles`: scratch of a launch. `sum_bytes`: result of sum_bytes().
std::int64_t worker_bytes(std::int64_t scratch_doubles, std::int64_t sum_bytes);
/// Returns the number of workers of a device, `fewest_workers` to `max_workers`.
std::int64_t worker_count(std::int64_t budget, std::int64_t worker_bytes);

/// What the packed panels of a tile space need on a device. If the problem has factors, the device makes left and right
/// panels and vvoo blocks of integrals from slabs of factors.
struct PanelDemand {
  std::int64_t largest_task;       ///< upper bound for the panels of one task
  std::int64_t all;                ///< upper bound for all panels
  std::int64_t slot;               ///< size of each pinned buffer; each panel can be sent in parts of at most this size
  std::int64_t made_rows = 0;      ///< buffer for integrals that the device makes; 0 without factors
  std::int64_t slabs = 0;          ///< all slabs of factors; 0 without factors
  std::int64_t slabs_at_once = 0;  ///< upper bound for the slabs of one panel
  double likely_all = 0.0;         ///< estimate of all panels
  /// Mean sizes: of the left panels of a particle tile, of the right panels of an ordered pair of particle tiles, and
  /// of the vvoo panels of a pair.
  double left_of_tile = 0.0, right_of_pair = 0.0, vvoo_of_pair = 0.0;
};
/// Returns the size of a number in left and right panels, bytes. With derivatives a panel may have two formats, see
/// backward_format(). `format`: the format of the operands.
int bytes_per_number(const Problem& problem, const OperandFormat& format);
/// Computes the demand. `tiles`: the tiles of the panels. `format`: the format of the operands.
PanelDemand panel_demand(const Problem& problem, const TileSpace& tiles, const OperandFormat& format);

/// Returns the number of pinned buffers. Panels wait in them while a kernel runs. There are more than
/// `fewest_panel_slots` only if they take at most a hundredth of the budget and a sixteenth of the memory of all
/// panels, because allocating pinned memory takes time.
std::int64_t panel_slots(std::int64_t budget, const PanelDemand& demand);

/// Returns the memory for slabs of factors. If all slabs fit into half of the memory beside workers and buffers, it is
/// the size of all slabs. Otherwise it is this half, a cache of slabs.
std::int64_t slab_bytes(std::int64_t budget, std::int64_t workers, std::int64_t worker_bytes,
                        const PanelDemand& demand);
/// Returns how much of the memory for slabs may have slabs that the device owns for its peers. The rest has room for
/// the slabs of any panel. `slab_bytes`: result of slab_bytes().
std::int64_t owned_slab_limit(std::int64_t slab_bytes, const PanelDemand& demand);
/// Returns the memory for panels: the budget without workers, pinned buffers and factors. It is negative if these do
/// not fit.
std::int64_t panel_bytes(std::int64_t budget, std::int64_t workers, std::int64_t worker_bytes,
                         const PanelDemand& demand);
/// Returns the size of the panel cache: at most `panel_bytes`, and not much more than all panels need.
std::int64_t cache_bytes(std::int64_t panel_bytes, const PanelDemand& demand);

/// Returns the size of the particle groups of grouped_order() in tiles, at least 1. It is the largest size for which
/// the panel cache has room for the panels of the two groups of a and b, and of nearly two tiles of c. Returns 0 if all
/// panels are likely to fit, because then the order does not matter. `capacity`: size of the cache. `owned`: size of
/// the panels in it that the device owns for its peers. `demand`: the demand of the tiles of the tasks.
int particle_group(std::int64_t capacity, std::int64_t owned, const PanelDemand& demand);

/// Returns the most memory that the panels of one launch may take, so that the panels of the next launch fit beside
/// them.
std::int64_t launch_limit(std::int64_t panel_bytes);
/// Returns what launch_limit() returns, for a panel cache that also contains panels that the device owns for its peers.
/// `capacity`: size of the cache. `owned`: size of the owned panels. Returns the largest integer if all panels fit.
/// Returns nullopt if the owned panels take too large a part, or if the panels of two launches do not fit beside them.
std::optional<std::int64_t> launch_limit_beside_owned(std::int64_t capacity, std::int64_t owned,
                                                      const PanelDemand& demand);

/// Cuts the orbital tiles of `tiles` until `fewest_workers` workers have room for the CTA tiles of each task, and, in
/// an eighth of `budget`, for its sums. `shapes`: see sum_bytes().
TileSpace tiles_with_room_for_sums(const Problem& problem, const TileSpace& tiles, std::span<const Shape> shapes,
                                   std::int64_t budget);
/// Cuts the orbital tiles of `tiles` until a launch has room for each task and for its panels. `format`: the format of
/// the operands. `budget`, `workers`, `worker_bytes`: values of the device. Throws UsageError if the panels of the
/// smallest tiles do not fit.
TileSpace tiles_that_fit(const Problem& problem, const TileSpace& tiles, const OperandFormat& format,
                         std::int64_t budget, std::int64_t workers, std::int64_t worker_bytes);
/// Returns the tiles that panels will have on GPUs whose free memory is not known yet: the result of tiles_that_fit()
/// if a sixteenth of the memory is enough for each task. Otherwise, and with derivatives, returns nullopt. The tiles
/// may still become smaller, if other programs use much of the memory. `memory`: the total memory of the smallest GPU.
std::optional<TileSpace> likely_panel_tiles(const Problem& problem, const TileSpace& tiles, std::int64_t memory);

}
