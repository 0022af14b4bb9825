#include "cxx/cuda/schedule/cta_tiles.hpp"

#include <algorithm>
#include <limits>

#include "cxx/triples/terms.hpp"

namespace trifuse::gpu {

namespace {

/// Extents of more warp tiles than this are cut before the search. Searching among more would take long and gain
/// nothing.
constexpr int largest_search = 20;
constexpr int cut = 8;  ///< warp tiles that are cut off; a multiple of Shape::group_warps
/// A multiprocessor has four quarters. Warp n runs on quarter n % 4.
constexpr int quarters = 4;

/// Returns the size of a k-tile of A and B for a product in which particle x stands alone, bytes.
std::int64_t k_tile_bytes(const Shape& shape, const std::array<int, 3>& warps, int x) {
  const auto particles = [&](int q) {
    return std::int64_t{warps[static_cast<std::size_t>(q)]} * shape.warp_tile[static_cast<std::size_t>(q)];
  };
  const auto [u, w] = others(x);
  return particles(x) * shape.format.a_bytes_per_particle() +
         particles(u) * particles(w) / particle_pair * shape.format.b_bytes_per_pair();
}

std::int64_t mean_stage_bytes(const Shape& shape, const std::array<int, 3>& warps) {
  return (k_tile_bytes(shape, warps, 0) + k_tile_bytes(shape, warps, 1) + k_tile_bytes(shape, warps, 2)) / 3;
}

}

std::int64_t stage_bytes(const Shape& shape, const std::array<int, 3>& warps) {
  return std::max({k_tile_bytes(shape, warps, 0), k_tile_bytes(shape, warps, 1), k_tile_bytes(shape, warps, 2)});
}

bool fits(const Shape& shape, const std::array<int, 3>& warps) {
  if (warps[2] % shape.group_warps != 0) return false;
  if (warps[0] * warps[1] * warps[2] > shape.warps || stage_bytes(shape, warps) > shape.stage_bytes) return false;
  const std::int64_t a = warps[0] * shape.warp_tile[0], b = warps[1] * shape.warp_tile[1],
                     c = warps[2] * shape.warp_tile[2];
  constexpr std::int64_t block_bytes = hole_group_size * hole_group_size * static_cast<std::int64_t>(sizeof(double));
  if (a + b + c > shape.cta_particles) return false;
  return shape.vvoo_bytes == 0 || 3 * block_bytes * (b * c + a * c + a * b) <= shape.vvoo_bytes;
}

CtaTiling::CtaTiling(const Shape& shape) : shape_(shape) {}

double CtaTiling::cta_tile_cost(const std::array<int, 3>& warps) const {
  const int count = warps[0] * warps[1] * warps[2];
  const double busiest = static_cast<double>((count + quarters - 1) / quarters) /
                         static_cast<double>((shape_.warps + quarters - 1) / quarters);
  // If a quarter has a single warp, it waits for the operands of this warp.
  const double waiting = busiest < 1.0 ? 0.05 : 0.0;
  // The operands of every CTA tile that fits arrive in time. But a CTA tile with fewer bytes leaves more bandwidth to
  // others.
  const double bytes =
      0.02 * static_cast<double>(mean_stage_bytes(shape_, warps)) / static_cast<double>(shape_.stage_bytes);
  return 0.04 + 0.94 * busiest + waiting + bytes;
}

const CtaTiling::Choice& CtaTiling::choose(const std::array<int, 3>& n) {
  const auto found = choices_.find(n);
  if (found != choices_.end()) return found->second;
  Choice best{std::numeric_limits<double>::infinity(), -1, 0};
  if (fits(shape_, n)) best.cost = cta_tile_cost(n);
  for (int axis = 0; axis < 3; ++axis) {
    const auto d = static_cast<std::size_t>(axis);
    const auto split = [&](int part) {
      std::array<int, 3> one = n, other = n;
      one[d] = part;
      other[d] = n[d] - part;
      const double total = choose(one).cost + choose(other).cost;
      if (total < best.cost - 1e-12) best = {total, axis, part};
    };
    if (n[d] > largest_search) {
      split(cut);
      break;
    }
    if (std::any_of(n.begin(), n.end(), [](int x) { return x > largest_search; })) continue;
    const int step = axis == 2 ? shape_.group_warps : 1;
    for (int part = step; part <= n[d] / 2; part += step) split(part);
  }
  return choices_.emplace(n, best).first->second;
}

void CtaTiling::collect(const std::array<int, 3>& first, const std::array<int, 3>& n,
                        std::vector<CtaParticles>& tiles) {
  const Choice choice = choose(n);
  if (choice.axis < 0) {
    CtaParticles part{first, n};
    for (std::size_t q = 0; q < 3; ++q) part.first[q] *= shape_.warp_tile[q];
    tiles.push_back(part);
    return;
  }
  const auto d = static_cast<std::size_t>(choice.axis);
  // The larger part comes first.
  std::array<int, 3> one = n, other = n, other_first = first;
  one[d] = n[d] - choice.first_part;
  other[d] = choice.first_part;
  other_first[d] += one[d];
  collect(first, one, tiles);
  collect(other_first, other, tiles);
}

std::array<int, 3> CtaTiling::warp_tiles(const std::array<int, 3>& extent) const {
  std::array<int, 3> n{};
  for (std::size_t q = 0; q < 3; ++q) n[q] = static_cast<int>(ceil_div(extent[q], shape_.warp_tile[q]));
  n[2] = static_cast<int>(ceil_div(n[2], shape_.group_warps)) * shape_.group_warps;
  return n;
}

const std::vector<CtaParticles>& CtaTiling::tiles(const std::array<int, 3>& extent) {
  const auto found = tilings_.find(extent);
  if (found != tilings_.end()) return found->second;
  std::vector<CtaParticles> tiles;
  collect({0, 0, 0}, warp_tiles(extent), tiles);
  return tilings_.emplace(extent, std::move(tiles)).first->second;
}

double CtaTiling::cost(const std::array<int, 3>& extent) {
  return choose(warp_tiles(extent)).cost;
}

ShapeSelector::ShapeSelector(const std::vector<Shape>& shapes) : tilings_(shapes.begin(), shapes.end()) {}

std::size_t ShapeSelector::best(const std::array<int, 3>& extent) {
  std::size_t best = 0;
  for (std::size_t n = 1; n < tilings_.size(); ++n) {
    if (tilings_[n].cost(extent) < tilings_[best].cost(extent)) best = n;
  }
  return best;
}

double append_cta_tiles(std::uint32_t task_number, const TaskData& task, SpinFormulation formulation,
                        const Shape& shape, CtaTiling& tiling, std::vector<CtaTile>& cta_tiles) {
  // In spin-orbital form elements with equal indices vanish, so ascending order is strict.
  const int gap = formulation == SpinFormulation::spin_orbital ? 1 : 0;
  const auto ascending = [&](int equal, const std::array<int, 3>& first, const std::array<int, 3>& last) {
    for (std::size_t q = 0; q < 2; ++q) {
      if ((equal >> q & 1) != 0 && first[q] + gap > last[q + 1]) return false;
    }
    return equal != 3 || first[0] + 2 * gap <= last[2];
  };
  const auto extent = [&](std::size_t q) { return static_cast<int>(task.extent[q]); };
  struct HoleGroups {
    std::array<int, 3> group;
    double elements;  ///< number of elements for one a, b, c, in units of full targets
  };
  const auto equal_groups = [&](const std::array<int, 3>& group) {
    CtaTile cta_tile{};
    for (std::size_t q = 0; q < 3; ++q) cta_tile.hole_group[q] = static_cast<std::uint8_t>(group[q]);
    return equal_hole_groups(task, cta_tile);
  };
  std::vector<HoleGroups> holes;
  std::array<int, 3> h{};
  const auto count = [&](std::size_t q) { return static_cast<int>(ceil_div(extent(3 + q), hole_group_size)); };
  for (h[2] = 0; h[2] < count(2); ++h[2]) {
    for (h[1] = 0; h[1] < count(1); ++h[1]) {
      for (h[0] = 0; h[0] < count(0); ++h[0]) {
        std::array<int, 3> first{}, last{};
        double elements = 1.0;
        for (std::size_t q = 0; q < 3; ++q) {
          first[q] = h[q] * hole_group_size;
          last[q] = std::min(first[q] + hole_group_size, extent(3 + q)) - 1;
          elements *= last[q] - first[q] + 1;
        }
        if (!ascending(task.equal_holes, first, last)) continue;
        if (formulation == SpinFormulation::spin_adapted) elements *= computed_targets(equal_groups(h)) / 6.0;
        holes.push_back({h, elements});
      }
    }
  }
  double computed = 0.0, all = 1.0;
  for (std::size_t q = 0; q < 6; ++q) all *= extent(q);
  for (const CtaParticles& part : tiling.tiles({extent(0), extent(1), extent(2)})) {
    std::array<int, 3> last{};
    double particles = 1.0;
    for (std::size_t q = 0; q < 3; ++q) {
      last[q] = std::min(part.first[q] + part.warps[q] * shape.warp_tile[q], extent(q)) - 1;
      particles *= last[q] - part.first[q] + 1;
    }
    if (!ascending(task.equal_particles, part.first, last)) continue;
    for (const HoleGroups& group : holes) {
      CtaTile cta_tile{};
      cta_tile.task = task_number;
      for (std::size_t q = 0; q < 3; ++q) {
        cta_tile.particle[q] = static_cast<std::uint16_t>(part.first[q]);
        cta_tile.warps[q] = static_cast<std::uint8_t>(part.warps[q]);
        cta_tile.hole_group[q] = static_cast<std::uint8_t>(group.group[q]);
      }
      cta_tiles.push_back(cta_tile);
      computed += particles * group.elements;
    }
  }
  return computed / all;
}

}
