#include "cxx/plan/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "cxx/base/error.hpp"
#include "cxx/triples/contraction_list.hpp"

namespace trifuse {

std::vector<std::size_t> Plan::largest_first() const {
  std::vector<std::size_t> order(tasks.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t x, std::size_t y) { return operations[x] > operations[y]; });
  return order;
}

Plan make_plan(const TileSpace& tiles, SpinFormulation formulation, int sides) {
  Plan plan;
  plan.formulation = formulation;
  plan.tiles = tiles;
  plan.tasks = enumerate_tasks(tiles, formulation);
  plan.operations.reserve(plan.tasks.size());
  ContractionList contractions;
  for (const Task& task : plan.tasks) {
    list_contractions(tiles, formulation, task, contractions);
    plan.operations.push_back(sides * contraction_operations(tiles, contractions));
    plan.total_operations += plan.operations.back();
  }
  return plan;
}

namespace {

/// Returns the number of ascending triples of n tiles.
double triples(double n) {
  return n * (n + 1) * (n + 2) / 6;
}

}

double estimated_tasks(const TileSpace& space, SpinFormulation formulation) {
  const auto count = [&](OrbitalClass c) { return static_cast<double>(space.last(c) - space.first(c)); };
  const double oa = count(OrbitalClass::hole_alpha), va = count(OrbitalClass::particle_alpha);
  int irreps = 0;
  for (int irrep = 0; irrep < 8; ++irrep) irreps += space.range(OrbitalClass::particle_alpha, irrep).size > 0 ? 1 : 0;
  const double allowed = 1.0 / std::max(1, irreps);  // about the fraction of sextets that symmetry allows
  if (formulation == SpinFormulation::spin_adapted) return allowed * triples(oa) * triples(va);
  const double ob = count(OrbitalClass::hole_beta), vb = count(OrbitalClass::particle_beta);
  const double aab = oa * oa * ob / 2 * va * va * vb / 2;
  const double abb = space.restricted() ? 0.0 : oa * ob * ob / 2 * va * vb * vb / 2 + triples(ob) * triples(vb);
  return allowed * (triples(oa) * triples(va) + aab + abb);
}

void require_listable(const TileSpace& tiles, SpinFormulation formulation, double max_tasks) {
  // Spin and symmetry exclude most sextets. Each costs some nanoseconds.
  constexpr double max_sextets = 6e9;
  const bool adapted = formulation == SpinFormulation::spin_adapted;
  const int holes = adapted ? tiles.last(OrbitalClass::hole_alpha) : tiles.hole_tiles();
  const int particles = (adapted ? tiles.last(OrbitalClass::particle_alpha) : tiles.size()) - tiles.hole_tiles();
  const double tasks = estimated_tasks(tiles, formulation);
  if (tasks <= max_tasks && triples(holes) * triples(particles) <= max_sextets) return;
  throw UsageError(
      fmt::format("{} tiles of occupied and {} of virtual orbitals make about {:.2g} tasks, too many to list (at "
                  "most {:.2g}); use a larger --tile-size.",
                  holes, particles, tasks, max_tasks));
}

namespace {

/// Returns the default tile sizes of a run on CPU cores, see default_tiling().
TileSizes cpu_tile_sizes(const TileSpace& tiles, SpinFormulation formulation) {
  constexpr double max_tasks = 500000;
  TileSizes sizes{4, 16};
  for (int doubling = 0; doubling < 6; ++doubling) {
    if (estimated_tasks(tiles.retiled(sizes.holes, sizes.particles), formulation) <= max_tasks) break;
    sizes.holes *= 2;
    sizes.particles *= 2;
  }
  return sizes;
}

/// Returns the default tile sizes of a run on GPUs, see default_tiling().
TileSizes gpu_tile_sizes(const TileSpace& tiles, SpinFormulation formulation, bool has_sample) {
  TileSizes best{0, 32};
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (std::int64_t size = 12; size <= 24; size += tile_granule) {
    std::int64_t count = 0;
    for (const OrbitalRange& range : tiles.ranges()) {
      if (space_of(range.orbital_class) == Space::hole) count += (range.size + size - 1) / size;
    }
    if (count >= least) continue;
    least = count;
    best.holes = size;
  }
  // 20 of them are computed twice.
  constexpr double few_tasks = 160;
  const TileSpace cut = tiles.retiled_aligned(best.holes, best.particles, tile_granule);
  if (has_sample && estimated_tasks(cut, formulation) < few_tasks) best.particles = 24;
  return best;
}

}

Tiling default_tiling(const TileSpace& orbitals, SpinFormulation formulation, bool for_gpus,
                      std::optional<std::int64_t> size, bool has_sample) {
  if (size) return {{*size, *size}, for_gpus};
  return {for_gpus ? gpu_tile_sizes(orbitals, formulation, has_sample) : cpu_tile_sizes(orbitals, formulation), true};
}

TileSpace retile(const TileSpace& orbitals, const Tiling& tiling) {
  const auto [sizes, aligned] = tiling;
  return aligned ? orbitals.retiled_aligned(sizes.holes, sizes.particles, tile_granule)
                 : orbitals.retiled(sizes.holes, sizes.particles);
}

namespace {

/// Orbital energies of one spin and one irrep. The extreme ones come first.
struct EnergyGroup {
  Spin spin;
  int irrep;
  std::vector<double> energies;
};

std::vector<EnergyGroup> energy_groups(const TileSpace& tiles, std::span<const double> eps, Space space,
                                       bool descending) {
  std::vector<EnergyGroup> groups;
  for (const OrbitalClass c : orbital_classes) {
    if (space_of(c) != space) continue;
    for (int irrep = 0; irrep < 8; ++irrep) {
      const TileSpace::Range range = tiles.range(c, irrep);
      if (range.size == 0) continue;
      const auto part = eps.subspan(static_cast<std::size_t>(range.offset), static_cast<std::size_t>(range.size));
      EnergyGroup group{spin_of(c), irrep, {part.begin(), part.end()}};
      std::sort(group.energies.begin(), group.energies.end());
      if (descending) std::reverse(group.energies.begin(), group.energies.end());
      groups.push_back(std::move(group));
    }
  }
  return groups;
}

/// The extreme sums of the energies of three different orbitals: [sum of their spin numbers (3..6), product of their
/// irreps].
using Extremes = std::array<std::array<double, 8>, 7>;

Extremes extreme_sums(const std::vector<EnergyGroup>& groups, bool largest) {
  const double none = largest ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
  Extremes extremes;
  for (auto& row : extremes) row.fill(none);
  for (std::size_t x = 0; x < groups.size(); ++x) {
    for (std::size_t y = x; y < groups.size(); ++y) {
      for (std::size_t z = y; z < groups.size(); ++z) {
        const std::size_t nth_y = y == x ? 1 : 0;
        const std::size_t nth_z = (z == x ? 1u : 0u) + (z == y ? 1u : 0u);
        if (groups[y].energies.size() <= nth_y || groups[z].energies.size() <= nth_z) continue;
        const double sum = groups[x].energies[0] + groups[y].energies[nth_y] + groups[z].energies[nth_z];
        const int spin = spin_number(groups[x].spin) + spin_number(groups[y].spin) + spin_number(groups[z].spin);
        const int irrep = groups[x].irrep ^ groups[y].irrep ^ groups[z].irrep;
        double& extreme = extremes[static_cast<std::size_t>(spin)][static_cast<std::size_t>(irrep)];
        extreme = largest ? std::max(extreme, sum) : std::min(extreme, sum);
      }
    }
  }
  return extremes;
}

}

double largest_denominator(const TileSpace& tiles, std::span<const double> orbital_energies) {
  const Extremes holes = extreme_sums(energy_groups(tiles, orbital_energies, Space::hole, true), true);
  const Extremes particles = extreme_sums(energy_groups(tiles, orbital_energies, Space::particle, false), false);
  double largest = -std::numeric_limits<double>::infinity();
  for (std::size_t spin = 3; spin <= 6; ++spin) {
    for (std::size_t irrep = 0; irrep < 8; ++irrep) {
      largest = std::max(largest, holes[spin][irrep] - particles[spin][irrep]);
    }
  }
  return largest;
}

}
