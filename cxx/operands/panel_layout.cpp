#include "cxx/operands/panel_layout.hpp"

#include <algorithm>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

#include "cxx/operands/factor_products.hpp"
#include "tce_tiles/tiles/blocks.hpp"
#include "tce_tiles/tiles/factor_source.hpp"
#include "tce_tiles/tiles/tile_sizes.hpp"

namespace trifuse {

namespace {

/// A range [begin, end) of tile numbers.
struct TileRange {
  int begin, end;
};
TileRange particles_of(const TileSpace& space, SpinFormulation formulation) {
  return {space.hole_tiles(),
          formulation == SpinFormulation::spin_adapted ? space.last(OrbitalClass::particle_alpha) : space.size()};
}
TileRange holes_of(const TileSpace& space, SpinFormulation formulation) {
  return {0, formulation == SpinFormulation::spin_adapted ? space.last(OrbitalClass::hole_alpha) : space.hole_tiles()};
}

/// Returns false if the contracted index is empty, or if the panel has only beta spins in a restricted space: no task
/// reads such a panel.
bool wanted(const TileSpace& space, SpinFormulation formulation, const PanelTiles& tiles,
            const ContractedIndex& contracted) {
  if (formulation == SpinFormulation::spin_orbital && space.restricted() && contracted.spin == Spin::beta &&
      std::all_of(tiles.begin(), tiles.end(), [&](int t) { return space[t].spin() == Spin::beta; })) {
    return false;
  }
  return contracted_extent(space, contracted).total() > 0;
}

/// Finds the contracted index of a left or right panel. Returns false if there is no such panel.
bool find_contracted_index(const TileSpace& space, SpinFormulation formulation, const PanelTiles& tiles, bool left,
                           ContractedIndex& contracted) {
  return left ? left_contracted_index(space, formulation, tiles, contracted)
              : right_contracted_index(space, formulation, tiles, contracted);
}

/// Calls `function` with the tiles of each panel whose first tile is `first`: {p, h, h'} of left panels, {p, p', h} of
/// right panels. In the spin-orbital formulation the tiles of the two indices of one kind ascend.
template <typename Function>
void for_each_panel_of(const TileSpace& space, SpinFormulation formulation, bool left, int first, Function function) {
  const TileRange h = holes_of(space, formulation), middle = left ? h : particles_of(space, formulation);
  const bool ascending = formulation == SpinFormulation::spin_orbital;
  for (int y = ascending && !left ? first : middle.begin; y < middle.end; ++y) {
    for (int z = ascending && left ? y : h.begin; z < h.end; ++z) {
      const PanelTiles tiles{first, y, z};
      ContractedIndex contracted;
      if (find_contracted_index(space, formulation, tiles, left, contracted) &&
          wanted(space, formulation, tiles, contracted))
        function(tiles);
    }
  }
}

/// Calls `function` with the tiles of each panel.
template <typename Function>
void for_each_panel(const TileSpace& space, SpinFormulation formulation, bool left, Function function) {
  const TileRange p = particles_of(space, formulation);
  for (int x = p.begin; x < p.end; ++x) for_each_panel_of(space, formulation, left, x, function);
}

/// Calls `function` with the tiles {p, p', h, h'}, p <= p', of each block <pp'||hh'> of the particles `p1` and `p2`, in
/// the spin-adapted formulation (p h|p' h').
template <typename Function>
void for_each_vvoo_block_of(const TileSpace& space, SpinFormulation formulation, int p1, int p2, Function function) {
  const bool adapted = formulation == SpinFormulation::spin_adapted;
  const TileRange h = holes_of(space, formulation);
  if (p1 > p2) std::swap(p1, p2);
  for (int h1 = h.begin; h1 < h.end; ++h1) {
    for (int h2 = adapted ? h.begin : h1; h2 < h.end; ++h2) {
      const bool exists = adapted ? (space[p1].irrep ^ space[p2].irrep ^ space[h1].irrep ^ space[h2].irrep) == 0
                                  : block_exists(space, p1, p2, h1, h2);
      if (exists) function(std::array<int, 4>{p1, p2, h1, h2});
    }
  }
}

/// Returns p1 or p2: the tile of particles with which a vvoo block stands in the layout. The tiles lie on a circle, and
/// the other tile follows within half of the circle. So all tiles have equally many blocks, and blocks with close tiles
/// stand together.
int home_of_vvoo(const TileRange& particles, int p1, int p2) {
  const auto [first, last] = std::minmax(p1, p2);
  return 2 * (last - first) <= particles.end - particles.begin ? first : last;
}

/// Returns the tile of particles with which a slab of factors stands in the layout. Slabs of two holes, which are
/// small, stand with the first tile.
int particle_of_slab(const TileSpace& space, const PanelKey& key) {
  if (key.kind == PanelKind::factors_oo) return space.hole_tiles();
  return key.tiles[key.kind == PanelKind::factors_vv ? 0 : 1];
}

/// Returns the keys of all slabs of factors from which panels are made, in the order of their particles.
std::vector<PanelKey> factor_slabs(const TileSpace& space, SpinFormulation formulation) {
  std::set<PanelKey> keys;
  const auto add_slabs_of = [&](const PanelKey& key) {
    for (const FactorProduct& product : factor_products(space, formulation, key)) {
      keys.insert({product.first, product.second});
    }
  };
  constexpr Side either = Side::right;
  for_each_panel(space, formulation, true,
                 [&](const PanelTiles& tiles) { add_slabs_of(PanelKey::left(tiles, either)); });
  for_each_panel(space, formulation, false,
                 [&](const PanelTiles& tiles) { add_slabs_of(PanelKey::right(tiles, either)); });
  // Each hole and each particle of one spin are in a vvoo block.
  for (int p = space.hole_tiles(); p < space.size(); ++p) {
    for (int h = 0; h < space.hole_tiles(); ++h) {
      const bool stored = space[p].partner == p && space[h].partner == h;
      if (stored && space[h].spin() == space[p].spin()) keys.insert(PanelKey::factors_ov(h, p));
    }
  }
  std::vector<PanelKey> slabs(keys.begin(), keys.end());
  std::stable_sort(slabs.begin(), slabs.end(), [&](const PanelKey& x, const PanelKey& y) {
    return particle_of_slab(space, x) < particle_of_slab(space, y);
  });
  return slabs;
}

/// Returns the length of a slab of factors, in doubles.
std::int64_t slab_doubles(const TileSpace& space, std::int64_t auxiliary, const PanelKey& key) {
  const Tile& first = space[key.tiles[0]];
  const std::int64_t last = key.kind == PanelKind::factors_ov ? space[key.tiles[1]].size
                                                              : space.range(first.orbital_class, key.tiles[1]).size;
  return first.size * auxiliary * last;
}

std::int64_t row_count(const TileSpace& space, const PanelTiles& tiles) {
  return space[tiles[0]].size * space[tiles[1]].size * space[tiles[2]].size;
}

std::int64_t vvoo_doubles(const TileSpace& space, const std::array<int, 4>& tiles) {
  return space[tiles[0]].size * space[tiles[1]].size * space[tiles[2]].size * space[tiles[3]].size;
}

ContractedExtent extent_of(const TileSpace& space, SpinFormulation formulation, const PanelTiles& tiles, bool left) {
  ContractedIndex contracted;
  find_contracted_index(space, formulation, tiles, left, contracted);
  return contracted_extent(space, contracted);
}

PanelTiles tiles_of(const PanelKey& key) {
  return {key.tiles[0], key.tiles[1], key.tiles[2]};
}

/// Returns the length of a row of a left or right panel, in doubles. `sides`: number of sides to which the panel
/// belongs.
std::int64_t whole_row(const ContractedExtent& extent, bool /*left*/, std::size_t sides) {
  return padded_row(extent.particles + static_cast<std::int64_t>(sides) * extent.holes);
}
/// Returns the length of a row without the part that is made from factors, doubles.
std::int64_t amplitude_row(const ContractedExtent& extent, bool left, std::size_t sides) {
  return padded_row(left ? extent.particles : static_cast<std::int64_t>(sides) * extent.holes);
}

/// In the order of their numbers.
constexpr std::array<Side, max_sides> all_sides = {Side::right, Side::left, Side::second_left};

}

std::int64_t PanelLayout::auxiliary_of(const Problem& problem) {
  const FactorSource* const factors = problem.right == nullptr ? nullptr : problem.right->factors();
  return factors == nullptr ? 0 : factors->auxiliary();
}

PanelLayout::PanelLayout(const Problem& problem, const TileSpace& tiles, std::span<const OperandShare> shares,
                         std::int64_t auxiliary, Rows rows)
    : formulation_(problem.formulation),
      sides_(problem.sides()),
      joins_sides_(problem.joins_sides()),
      sets_(problem.sets()),
      auxiliary_(auxiliary),
      rows_(rows),
      tiles_(tiles),
      indices_(of_vvoo + sets_.size()) {
  if (sides_ > 1 && !joins_sides_ && has_factors())
    throw std::logic_error("Factors are for problems whose sides have the same integrals.");
  std::int64_t end = 0;
  std::vector<std::int64_t> begins;
  walk([&](const PanelKey& key) {
    const PanelExtent extent{end, size_of(key)};
    indices_[index_of(key)].emplace(number_of(key), extent);
    begins.push_back(end);
    end += extent.doubles;
  });
  begins.push_back(end);
  divide(shares, begins);
}

/// Calls `use` with the key of each panel, in the order of the layout. The panels of all kinds with the same tile of
/// particles stand together. So each rank owns panels of all kinds, and all ranks take equally long to read their
/// panels.
template <typename Use>
void PanelLayout::walk(Use use) const {
  const TileRange particles = particles_of(tiles_, formulation_);
  std::vector<PanelKey> slabs;
  if (has_factors()) slabs = factor_slabs(tiles_, formulation_);
  auto slab = slabs.cbegin();
  for (int p = particles.begin; p < particles.end; ++p) {
    for (const bool left : {true, false}) {
      for (const Side side : sides_with_panels(left ? PanelKind::left : PanelKind::right)) {
        for_each_panel_of(tiles_, formulation_, left, p, [&](const PanelTiles& tiles) {
          use(left ? PanelKey::left(tiles, side) : PanelKey::right(tiles, side));
        });
      }
    }
    for (; slab != slabs.cend() && particle_of_slab(tiles_, *slab) == p; ++slab) use(*slab);
    for (int q = particles.begin; q < particles.end; ++q) {
      if (home_of_vvoo(particles, p, q) != p) continue;
      for (std::size_t set = 0; set < sets(); ++set) {
        for_each_vvoo_block_of(tiles_, formulation_, p, q,
                               [&](const std::array<int, 4>& tiles) { use(PanelKey::vvoo(set, tiles)); });
      }
    }
  }
}

std::span<const Side> PanelLayout::sides_with_panels(PanelKind kind) const {
  const bool of_each = kind == PanelKind::left || (kind == PanelKind::right && !joins_sides_);
  return std::span(all_sides).first(of_each ? static_cast<std::size_t>(sides_) : 1);
}

std::span<const Side> PanelLayout::sides_in_panel(const PanelKey& key) const {
  if (key.kind == PanelKind::right && joins_sides_) return std::span(all_sides).first(2);
  return std::span(all_sides).subspan(static_cast<std::size_t>(key.side), 1);
}

std::int64_t PanelLayout::size_of(const PanelKey& key) const {
  if (key.kind == PanelKind::vvoo) return makes(key) ? 0 : vvoo_doubles(tiles_, key.tiles);
  if (key.kind != PanelKind::left && key.kind != PanelKind::right) return slab_doubles(tiles_, auxiliary_, key);
  return row_count(tiles_, tiles_of(key)) * stored_rows(key).stride;
}

bool PanelLayout::makes(const PanelKey& key) const {
  return has_factors() && made_from_factors(sets_, key);
}

std::int64_t PanelLayout::whole_doubles(const PanelKey& key) const {
  if (key.kind == PanelKind::vvoo) return vvoo_doubles(tiles_, key.tiles);
  return row_count(tiles_, tiles_of(key)) * rows(key).stride;
}

std::size_t PanelLayout::index_of(const PanelKey& key) const {
  const auto side = static_cast<std::size_t>(key.side);
  switch (key.kind) {
    case PanelKind::left:
      return of_left + (side < sides_with_panels(key.kind).size() ? side : 0);
    case PanelKind::right:
      return of_right + (side < sides_with_panels(key.kind).size() ? side : 0);
    case PanelKind::factors_vv:
      return of_factors_vv;
    case PanelKind::factors_ov:
      return of_factors_ov;
    case PanelKind::factors_oo:
      return of_factors_oo;
    case PanelKind::vvoo:
      break;
  }
  return of_vvoo + key.set;
}

const PanelExtent* PanelLayout::find(const PanelKey& key) const {
  const Index& index = indices_[index_of(key)];
  const auto it = index.find(number_of(key));
  return it == index.end() ? nullptr : &it->second;
}

ContractedExtent PanelLayout::contracted(const PanelKey& key) const {
  return extent_of(tiles_, formulation_, tiles_of(key), key.kind == PanelKind::left);
}

PanelRows PanelLayout::rows(const PanelKey& key) const {
  const bool left = key.kind == PanelKind::left;
  const ContractedExtent extent = contracted(key);
  const auto [particles, holes] = extent;
  const std::int64_t stride = whole_row(extent, left, sides_in_panel(key).size());
  // A row is d | l. If a right panel belongs to both sides, its rows are l | d | l, and a row of the left side is l |
  // d.
  if (!joins_sides_) return {stride, 0, 0, particles};
  if (key.side == Side::left) return {stride, 0, holes, 0};
  return left ? PanelRows{stride, 0, 0, particles} : PanelRows{stride, holes, holes, extent.total()};
}

PanelRows PanelLayout::stored_rows(const PanelKey& key) const {
  if (has_whole_rows()) return rows(key);
  const bool left = key.kind == PanelKind::left;
  const ContractedExtent extent = contracted(key);
  const std::int64_t hole_part = !left && joins_sides_ && key.side == Side::right ? extent.holes : 0;
  return {amplitude_row(extent, left, sides_in_panel(key).size()), hole_part, 0, hole_part};
}

void PanelLayout::visit(const std::function<void(const PanelKey& key, const PanelExtent& extent)>& use) const {
  walk([&](const PanelKey& key) {
    const PanelExtent& extent = *find(key);
    if (extent.doubles > 0) use(key, extent);
  });
}

void PanelLayout::visit_parts_of(const PanelKey& key, const std::function<void(const PanelExtent& extent)>& use) const {
  const auto use_part = [&](const PanelKey& part) {
    const PanelExtent* const extent = find(part);
    if (extent != nullptr && extent->doubles > 0) use(*extent);
  };
  use_part(key);
  if (!makes(key) || find(key) == nullptr) return;
  for (const FactorProduct& product : factor_products(tiles_, formulation_, key)) {
    use_part(product.first);
    use_part(product.second);
  }
}

void PanelLayout::visit_panels_of(const Task& task, const ContractionList& contractions,
                                  const std::function<void(const PanelKey& key)>& use) const {
  for (const Product& product : contractions.products) {
    for (const Side side : sides_with_panels(PanelKind::left)) use(PanelKey::left(product.left, side));
    for (const Side side : sides_with_panels(PanelKind::right)) use(PanelKey::right(product.right, side));
  }
  for (const DisconnectedTerm& term : contractions.disconnected) {
    for (std::size_t set = 0; set < sets(); ++set) use(PanelKey::vvoo(set, term.vvoo_tiles(task)));
  }
}

void PanelLayout::divide(std::span<const OperandShare> shares, const std::vector<std::int64_t>& begins) {
  const std::int64_t end = begins.back();
  // Each section ends with the first panel that reaches the section's part of the layout.
  const auto panel_at = [&](double share) {
    const auto at = static_cast<std::int64_t>(share * static_cast<double>(end));
    return *std::lower_bound(begins.begin(), begins.end(), std::min(at, end));
  };
  double all = 0.0, before = 0.0;
  for (const OperandShare& share : shares) all += share.share;
  for (std::size_t rank = 0; rank < shares.size(); ++rank) {
    const auto [share, segments] = shares[rank];
    for (int n = 0; n < segments; ++n) {
      const std::int64_t begin = panel_at((before + share * n / segments) / all);
      if (!sections_.empty()) sections_.back().end = begin;
      sections_.push_back({static_cast<int>(rank), begin, end});
    }
    before += share;
  }
}

std::size_t PanelLayout::section_of(const PanelExtent& extent) const {
  // An empty section begins where the next one begins.
  const auto next = std::upper_bound(sections_.begin(), sections_.end(), extent.begin,
                                     [](std::int64_t at, const PanelSection& section) { return at < section.begin; });
  return static_cast<std::size_t>(next - sections_.begin()) - 1;
}

namespace {

/// Returns the length of all left, right and vvoo panels, in doubles. `row`: whole_row(), or another length of a row of
/// a left or right panel. `vvoo_sets`: number of sets whose vvoo blocks count.
template <typename Row>
std::int64_t panel_doubles(const Problem& problem, const TileSpace& tiles, Row row, std::int64_t vvoo_sets) {
  std::int64_t doubles = 0;
  for (const bool left : {true, false}) {
    const bool joined = !left && problem.joins_sides();
    const std::int64_t panels = joined ? 1 : problem.sides();
    for_each_panel(tiles, problem.formulation, left, [&](const PanelTiles& panel) {
      const ContractedExtent extent = extent_of(tiles, problem.formulation, panel, left);
      doubles += panels * row_count(tiles, panel) * row(extent, left, joined ? 2 : 1);
    });
  }
  const TileRange p = particles_of(tiles, problem.formulation);
  for (int p1 = p.begin; p1 < p.end; ++p1) {
    for (int p2 = p1; p2 < p.end; ++p2) {
      for_each_vvoo_block_of(tiles, problem.formulation, p1, p2, [&](const std::array<int, 4>& block) {
        doubles += vvoo_sets * vvoo_doubles(tiles, block);
      });
    }
  }
  return doubles;
}

/// Returns the number of sets whose vvoo blocks are not made from factors.
std::int64_t stored_sets(const Problem& problem) {
  const std::vector<DisconnectedSet> sets = problem.sets();
  return std::count_if(sets.begin(), sets.end(), [](const DisconnectedSet& set) { return set.vvoo != VvooTensor::v2; });
}

}

std::int64_t PanelLayout::amplitude_doubles(const Problem& problem, const TileSpace& tiles) {
  return panel_doubles(problem, tiles, amplitude_row, problem.disconnected_sets());
}

std::int64_t PanelLayout::whole_doubles(const Problem& problem, const TileSpace& tiles) {
  return panel_doubles(problem, tiles, whole_row, problem.disconnected_sets());
}

std::int64_t PanelLayout::made_doubles(const Problem& problem, const TileSpace& tiles) {
  if (auxiliary_of(problem) == 0) return 0;
  const auto no_row = [](const ContractedExtent&, bool, std::size_t) { return std::int64_t{0}; };
  return whole_doubles(problem, tiles) - panel_doubles(problem, tiles, no_row, stored_sets(problem));
}

std::int64_t PanelLayout::required_doubles(const Problem& problem, const TileSpace& tiles) {
  const std::int64_t auxiliary = PanelLayout::auxiliary_of(problem);
  if (auxiliary == 0) return whole_doubles(problem, tiles);
  std::int64_t doubles = panel_doubles(problem, tiles, amplitude_row, stored_sets(problem));
  for (const PanelKey& key : factor_slabs(tiles, problem.formulation)) doubles += slab_doubles(tiles, auxiliary, key);
  return doubles;
}

std::int64_t PanelLayout::doubles_in_use(const Problem& problem, const TileSpace& tiles) {
  struct Longest {
    std::int64_t panel = 0, amplitudes = 0;
  };
  const auto longest_of = [&](bool left) {
    const std::size_t sides = !left && problem.joins_sides() ? 2 : 1;
    Longest longest;
    for_each_panel(tiles, problem.formulation, left, [&](const PanelTiles& panel) {
      const ContractedExtent extent = extent_of(tiles, problem.formulation, panel, left);
      longest.panel = std::max(longest.panel, row_count(tiles, panel) * whole_row(extent, left, sides));
      longest.amplitudes = std::max(longest.amplitudes, row_count(tiles, panel) * amplitude_row(extent, left, sides));
    });
    return longest;
  };
  const Longest left = longest_of(true), right = longest_of(false);
  const auto [h, p] = largest_tiles(tiles);
  const std::int64_t terms = disconnected_terms(problem.formulation) * problem.disconnected_sets();
  const std::int64_t whole_panels = left.panel + right.panel + terms * h * h * p * p;
  const std::int64_t auxiliary = PanelLayout::auxiliary_of(problem);
  if (auxiliary == 0) return whole_panels;
  std::int64_t vv = 0, ov = 0, oo = 0;
  for (const PanelKey& key : factor_slabs(tiles, problem.formulation)) {
    std::int64_t& largest = key.kind == PanelKind::factors_vv ? vv : key.kind == PanelKind::factors_ov ? ov : oo;
    largest = std::max(largest, slab_doubles(tiles, auxiliary, key));
  }
  return whole_panels + std::max({left.amplitudes + oo, right.amplitudes + vv, ov}) + ov;
}

}
