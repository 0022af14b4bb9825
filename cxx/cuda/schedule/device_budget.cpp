#include "cxx/cuda/schedule/device_budget.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "cxx/base/byte_amount.hpp"
#include "cxx/base/error.hpp"
#include "cxx/cuda/schedule/arena.hpp"
#include "cxx/cuda/schedule/cta_tiles.hpp"
#include "cxx/cuda/schedule/launch_shapes.hpp"
#include "cxx/cuda/schedule/slab_shape.hpp"
#include "cxx/cuda/schedule/split_half_units.hpp"
#include "cxx/operands/panel_layout.hpp"
#include "cxx/triples/contraction_list.hpp"
#include "tce_tiles/tiles/tile_sizes.hpp"

namespace trifuse::gpu {

namespace {

constexpr std::int64_t mib = std::int64_t{1} << 20;
/// Memory that is left to the driver and to other programs, bytes.
constexpr std::int64_t reserve_bytes = 512 * mib;
constexpr std::int64_t least_slot_bytes = 32 * mib;
/// The panel cache may be larger than the upper bound of all panels by this number of bytes.
constexpr std::int64_t spare_panel_bytes = 64 * mib;
/// If there are more than `fewest_workers` workers, their buffers may take the budget divided by this number.
constexpr std::int64_t worker_part = 10;
/// Buffer for the products that make rows of panels, bytes. It has room for a whole panel, or for enough rows for fast
/// products.
constexpr std::int64_t usual_made_rows = 256 * mib;
/// Slabs of factors may take the memory beside the fixed buffers, divided by this number.
constexpr std::int64_t slab_part = 2;
/// Share of the memory for panels that one launch may use.
constexpr double launch_share = 0.45;

/// Returns bytes as an integer, at most the largest one. Predictions ask for tile spaces whose panels fit into no
/// memory.
std::int64_t whole_bytes(double bytes) {
  return static_cast<std::int64_t>(std::min(bytes, 0x1p62));
}

double padded(std::int64_t extent, std::int64_t size) {
  return static_cast<double>(ceil_div(extent, size) * size);
}

/// The lengths of the longest panel rows: in k-tiles on the device, in contracted indices on the host, and in the
/// particles and the holes of the latter.
struct LongestRows {
  std::int64_t k_tiles = 1, host = 1, particles = 0, holes = 0;
};
LongestRows longest_rows(const TileSpace& tiles, SpinFormulation formulation, int k_tile_depth) {
  LongestRows rows;
  for (const Spin spin : {Spin::alpha, Spin::beta}) {
    for (int irrep = 0; irrep < 8; ++irrep) {
      const ContractedExtent extent = contracted_extent(tiles, {spin, irrep});
      rows.particles = std::max(rows.particles, extent.particles);
      rows.holes = std::max(rows.holes, extent.holes);
      rows.k_tiles = std::max(rows.k_tiles, ceil_div(extent.total(), k_tile_depth));
      if (formulation == SpinFormulation::spin_adapted && spin == Spin::beta) continue;
      rows.host = std::max(rows.host, extent.particles + 2 * extent.holes + 8);
    }
  }
  return rows;
}

/// Sets the members of `demand` for slabs of factors.
void add_slabs(const TileSpace& tiles, SpinFormulation formulation, std::int64_t auxiliary, PanelDemand& demand) {
  std::int64_t largest_vv = 0, largest_ov = 0, largest_oo = 0;
  const auto add = [&](const PanelKey& key, std::int64_t& largest) {
    const std::int64_t bytes = Arena::rounded(slab_shape(tiles, auxiliary, key).bytes());
    largest = std::max(largest, bytes);
    demand.slabs += bytes;
  };
  for (int p = tiles.hole_tiles(); p < tiles.size(); ++p) {
    if (tiles[p].partner != p) continue;
    for (int irrep = 0; irrep < 8; ++irrep) {
      if (tiles.range(tiles[p].orbital_class, irrep).size > 0) add(PanelKey::factors_vv(p, irrep), largest_vv);
    }
    for (int h = 0; h < tiles.hole_tiles(); ++h) {
      if (tiles[h].partner == h && tiles[h].spin() == tiles[p].spin()) add(PanelKey::factors_ov(h, p), largest_ov);
    }
  }
  for (int h = 0; h < tiles.hole_tiles(); ++h) {
    if (tiles[h].partner != h) continue;
    for (int irrep = 0; irrep < 8; ++irrep) {
      if (tiles.range(tiles[h].orbital_class, irrep).size > 0) add(PanelKey::factors_oo(h, irrep), largest_oo);
    }
  }
  const std::int64_t products = formulation == SpinFormulation::spin_adapted ? 1 : 2;
  demand.slabs_at_once =
      std::min(demand.slabs, products * (std::max({largest_vv, largest_ov, largest_oo}) + largest_ov));
}

/// Sets the mean bytes of the panels of one particle tile, and of a pair of them. `left`, `right`, `vvoo`: bytes of all
/// panels of a kind, if every order of tiles and every spin had its own. `hole_tiles`, `particle_tiles`: numbers of
/// tiles.
void set_means(double left, double right, double vvoo, double hole_tiles, double particle_tiles, bool adapted,
               PanelDemand& demand) {
  const double of_holes = 1.0 + 1.0 / std::max(1.0, hole_tiles), tiles = std::max(1.0, particle_tiles),
               of_particles = 1.0 + 1.0 / tiles;
  // Spin-adapted panels with equal tiles are packed in both orders. For spin orbitals one order of two holes or two
  // particles is enough, and spin is conserved.
  demand.left_of_tile = left / tiles * (adapted ? of_holes : 3.0 / 8.0);
  demand.right_of_pair = right / (tiles * tiles) * (adapted ? of_particles : 3.0 / 8.0);
  demand.vvoo_of_pair = vvoo / (tiles * tiles) * (adapted ? of_holes * of_particles / 2.0 : 3.0 / 32.0);
  demand.likely_all = tiles * demand.left_of_tile + tiles * tiles * (demand.right_of_pair + demand.vvoo_of_pair);
}

bool is_smallest(const TileSizes& sizes) {
  return sizes.holes <= hole_group_size && sizes.particles <= hole_group_size;
}
/// Halves the larger of the two sizes that is not yet the smallest possible, to a multiple of a hole group.
TileSizes smaller(const TileSizes& sizes) {
  const auto half = [](std::int64_t size) {
    return std::max<std::int64_t>(hole_group_size, size / 2 / hole_group_size * hole_group_size);
  };
  const auto [holes, particles] = sizes;
  if (holes > particles || particles <= hole_group_size) return {half(holes), particles};
  return {holes, half(particles)};
}

/// Returns the part of the budget for panels and slabs of factors: the budget without workers and buffers.
std::int64_t bytes_beside_buffers(std::int64_t budget, std::int64_t workers, std::int64_t worker_bytes,
                                  const PanelDemand& demand) {
  return budget - workers * worker_bytes - panel_slots(budget, demand) * demand.slot - demand.made_rows;
}

}

std::int64_t device_budget(std::int64_t free, std::int64_t allowed) {
  const std::int64_t available = free - reserve_bytes;
  return allowed > 0 ? std::min(allowed, available) : available;
}

std::int64_t scratch_doubles(int multiprocessors, int targets, int cta_elements) {
  return std::int64_t{multiprocessors} * targets * cta_elements;
}

std::int64_t sum_bytes(const Problem& problem, const TileSpace& tiles, std::span<const Shape> shapes) {
  if (problem.quotients.size() <= 1) return 0;
  const auto [holes, particles] = largest_tiles(tiles);
  const std::int64_t hole_groups = ceil_div(holes, hole_group_size);
  const int extent = static_cast<int>(particles);
  std::int64_t sums = 0;
  for (const Shape& shape : shapes) {
    const std::int64_t cta_tiles = std::ssize(CtaTiling(shape).tiles({extent, extent, extent}));
    sums = std::max(sums, hole_groups * hole_groups * hole_groups * cta_tiles * shape.warps);
  }
  return (std::ssize(problem.quotients) - 1) * sums * energy_sums(problem.formulation) *
         static_cast<std::int64_t>(sizeof(double));
}

std::int64_t worker_bytes(std::int64_t scratch_doubles, std::int64_t sum_bytes) {
  return scratch_doubles * static_cast<std::int64_t>(sizeof(double)) + launch_bytes + sum_bytes;
}

std::int64_t worker_count(std::int64_t budget, std::int64_t worker_bytes) {
  return std::clamp(budget / worker_part / worker_bytes, fewest_workers, max_workers);
}

int bytes_per_number(const Problem& problem, const OperandFormat& format) {
  const OperandFormat of_backward = backward_format(format);
  const bool both = problem.derivatives != Derivatives::none && of_backward != format;
  return format.bytes_per_number() + (both ? of_backward.bytes_per_number() : 0);
}

PanelDemand panel_demand(const Problem& problem, const TileSpace& tiles, const OperandFormat& format) {
  const bool adapted = problem.formulation == SpinFormulation::spin_adapted;
  // Panels in two formats of one size.
  const double copies = bytes_per_number(problem, format) / format.bytes_per_number();
  const LongestRows rows = longest_rows(tiles, problem.formulation, format.k_tile_depth);
  const auto k_tiles = static_cast<double>(rows.k_tiles);
  const double sides = problem.sides(), sets = problem.disconnected_sets();
  const auto left = [&](double particles, double holes) {
    return copies * sides * k_tiles * particles * holes * holes / (hole_group_size * hole_group_size) *
           format.a_bytes_per_particle();
  };
  const auto right = [&](double particles, double holes) {
    return copies * sides * k_tiles * particles * particles * holes / (particle_pair * hole_group_size) *
           format.b_bytes_per_pair();
  };
  const auto vvoo = [&](double particles, double holes) {
    return sets * particles * particles * holes * holes * sizeof(double);
  };
  const auto bytes = [&](double particles, double holes) {
    return left(particles, holes) + right(particles, holes) + vvoo(particles, holes);
  };
  // The arena rounds up the size of a panel whose k-tiles are not multiples of its unit.
  const std::int64_t unit = Arena::rounded(1);
  const double rounding = format.a_k_tile_bytes % unit == 0 && format.b_k_tile_bytes % unit == 0
                              ? 0.0
                              : copies * sides * static_cast<double>(unit);
  const auto [largest_hole, largest_particle] = largest_tiles(tiles);
  PanelDemand demand{};
  const double kinds = adapted ? 18 : 9;
  demand.largest_task = whole_bytes(
      kinds * (bytes(padded(largest_particle, format.b_second), padded(largest_hole, hole_group_size)) + 2 * rounding));
  double holes = 0.0, particles = 0.0, hole_tiles = 0.0, particle_tiles = 0.0;
  for (const Tile& tile : tiles.tiles()) {
    if (adapted && tile.spin() == Spin::beta) continue;
    (tile.space() == Space::hole ? holes : particles) += padded(tile.size, hole_group_size);
    (tile.space() == Space::hole ? hole_tiles : particle_tiles) += 1.0;
  }
  // Panels with equal tiles are packed in both orders.
  const double panels = hole_tiles * particle_tiles * (hole_tiles + particle_tiles);
  demand.all = whole_bytes(2 * (bytes(particles, holes) + panels * rounding));
  set_means(left(particles, holes), right(particles, holes), vvoo(particles, holes), hole_tiles, particle_tiles,
            adapted, demand);
  // A part of a panel is one hole group times all its other indices.
  const auto hole = static_cast<double>(largest_hole), particle = static_cast<double>(largest_particle);
  const double panel_part = hole_group_size * particle * std::max(particle, hole) * static_cast<double>(rows.host);
  const double vvoo_part = hole_group_size * particle * particle * hole;
  demand.slot = std::max(least_slot_bytes, whole_bytes(std::max(panel_part, vvoo_part) * sizeof(double)));
  const std::int64_t auxiliary = PanelLayout::auxiliary_of(problem);
  if (auxiliary == 0) return demand;
  add_slabs(tiles, problem.formulation, auxiliary, demand);
  // Lengths of the rows of a right panel, of a left panel, and of a vvoo block.
  const double row_doubles = std::max(
      {particle * padded(rows.particles, 2), hole * padded(rows.holes, 2), hole * padded(largest_particle, 2)});
  const double block_bytes = hole_group_size * particle * row_doubles * sizeof(double);
  const std::int64_t block = whole_bytes(block_bytes),
                     panel = whole_bytes(block_bytes * static_cast<double>(std::max<std::int64_t>(
                                                           1, ceil_div(largest_hole, hole_group_size))));
  demand.made_rows = std::clamp(usual_made_rows, block, panel);
  return demand;
}

std::int64_t panel_slots(std::int64_t budget, const PanelDemand& demand) {
  constexpr std::int64_t part_of_budget = 100, part_of_panels = 16;
  return std::clamp(std::min(budget / part_of_budget, demand.all / part_of_panels) / demand.slot, fewest_panel_slots,
                    most_panel_slots);
}

std::int64_t slab_bytes(std::int64_t budget, std::int64_t workers, std::int64_t worker_bytes,
                        const PanelDemand& demand) {
  const std::int64_t beside = bytes_beside_buffers(budget, workers, worker_bytes, demand);
  return std::clamp(beside / slab_part, demand.slabs_at_once, demand.slabs);
}

std::int64_t owned_slab_limit(std::int64_t slab_bytes, const PanelDemand& demand) {
  // If all slabs fit, each slab has its place, owned or not.
  return slab_bytes >= demand.slabs ? slab_bytes : slab_bytes - demand.slabs_at_once;
}

std::int64_t panel_bytes(std::int64_t budget, std::int64_t workers, std::int64_t worker_bytes,
                         const PanelDemand& demand) {
  return bytes_beside_buffers(budget, workers, worker_bytes, demand) -
         slab_bytes(budget, workers, worker_bytes, demand);
}

std::int64_t cache_bytes(std::int64_t panel_bytes, const PanelDemand& demand) {
  return std::min(panel_bytes, demand.all + spare_panel_bytes);
}

int particle_group(std::int64_t capacity, std::int64_t owned, const PanelDemand& demand) {
  if (static_cast<double>(capacity) >= demand.likely_all) return 0;
  const auto fits = [&](int block) {
    // The panels of the last tile of c are evicted for those of the next tile, so most panels of both tiles are there.
    constexpr double tiles_of_c = 1.75;
    const double size = block, tiles = 2 * size + tiles_of_c, pairs = size * (size + 2 * tiles_of_c);
    const double needed = tiles * demand.left_of_tile + pairs * (2 * demand.right_of_pair + demand.vvoo_of_pair);
    return needed <= static_cast<double>(capacity - owned);
  };
  int block = 1;
  while (fits(block + 1)) ++block;
  return block;
}

std::int64_t launch_limit(std::int64_t panel_bytes) {
  return static_cast<std::int64_t>(launch_share * static_cast<double>(panel_bytes));
}

std::optional<std::int64_t> launch_limit_beside_owned(std::int64_t capacity, std::int64_t owned,
                                                      const PanelDemand& demand) {
  if (owned > capacity / 4 * 3) return std::nullopt;
  if (capacity >= demand.all) return std::numeric_limits<std::int64_t>::max();
  const std::int64_t limit = launch_limit(capacity - owned);
  if (limit < demand.largest_task) return std::nullopt;
  return limit;
}

TileSpace tiles_with_room_for_sums(const Problem& problem, const TileSpace& tiles, std::span<const Shape> shapes,
                                   std::int64_t budget) {
  constexpr std::int64_t part = 8;
  TileSizes sizes{largest_hole_tile, largest_particle_tile};
  for (;;) {
    TileSpace fine = tiles.refined(sizes.holes, sizes.particles);
    if (is_smallest(sizes) || fewest_workers * sum_bytes(problem, fine, shapes) <= budget / part) return fine;
    sizes = smaller(sizes);
  }
}

TileSpace tiles_that_fit(const Problem& problem, const TileSpace& tiles, const OperandFormat& format,
                         std::int64_t budget, std::int64_t workers, std::int64_t worker_bytes) {
  TileSpace fine = tiles.refined(largest_hole_tile, largest_particle_tile);
  for (TileSizes sizes = largest_tiles(fine);;) {
    const PanelDemand demand = panel_demand(problem, fine, format);
    const std::int64_t limit = launch_limit(panel_bytes(budget, workers, worker_bytes, demand));
    if (demand.largest_task <= limit) return fine;
    if (is_smallest(sizes)) {
      throw UsageError(fmt::format(
          "A task needs {} on the GPU even with the smallest tiles, but only {} are left; allow more --memory.",
          format_bytes(static_cast<double>(demand.largest_task)),
          format_bytes(static_cast<double>(std::max<std::int64_t>(limit, 0)))));
    }
    sizes = smaller(sizes);
    fine = tiles.refined(sizes.holes, sizes.particles);
  }
}

std::optional<TileSpace> likely_panel_tiles(const Problem& problem, const TileSpace& tiles, std::int64_t memory) {
  if (problem.derivatives != Derivatives::none) return std::nullopt;  // the free memory limits their seeds
  constexpr std::int64_t part_for_task = 16, part_for_run = 2;
  TileSpace fine = tiles_with_room_for_sums(problem, tiles, BulkKernels::shapes, memory / part_for_run);
  // The sample of mixed precision runs in double precision, so its panels must fit, too.
  if (panel_demand(problem, fine, format_of<Fp64>()).largest_task > memory / part_for_task) return std::nullopt;
  return fine;
}

}
