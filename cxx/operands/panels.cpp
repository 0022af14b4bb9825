#include "cxx/operands/panels.hpp"

#include <algorithm>
#include <memory>
#include <unordered_set>

#include "cxx/base/large_pages.hpp"
#include "cxx/operands/panel_loader.hpp"
#include "tce_tiles/tile_sizes.hpp"

namespace trifuse {

namespace {

/// Of what is read on the way, in doubles, where memory is not limited.
constexpr std::int64_t buffered_alone = std::int64_t{1} << 27;

/// Of a process without others.
constexpr OperandShare all_of_them[] = {{}};

constexpr std::int64_t padded(std::int64_t n) {
  return (n + 7) / 8 * 8;
}

/// All (x, y, z) with x in the first range and y, z in the second, y <= z where `ordered`.
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

/// In a restricted space nothing of pure beta spin is stored or needed.
bool wanted(const TileSpace& space, SpinFormulation formulation, const PanelTiles& tiles,
            const ContractedIndex& inner) {
  if (formulation == SpinFormulation::spin_orbital && space.restricted() && inner.spin == Spin::beta &&
      std::all_of(tiles.begin(), tiles.end(), [&](int t) { return space[t].spin() == Spin::beta; })) {
    return false;
  }
  return contracted_extent(space, inner).total() > 0;
}

template <typename Function>
void for_each_left_panel(const TileSpace& space, SpinFormulation formulation, Function function) {
  const TileRange p = particles_of(space, formulation), h = holes_of(space, formulation);
  for (int x = p.begin; x < p.end; ++x) {
    for (int y = h.begin; y < h.end; ++y) {
      for (int z = formulation == SpinFormulation::spin_adapted ? h.begin : y; z < h.end; ++z) {
        const PanelTiles tiles{x, y, z};
        ContractedIndex inner;
        if (left_contracted_index(space, formulation, tiles, inner) && wanted(space, formulation, tiles, inner))
          function(tiles);
      }
    }
  }
}

template <typename Function>
void for_each_right_panel(const TileSpace& space, SpinFormulation formulation, Function function) {
  const TileRange p = particles_of(space, formulation), h = holes_of(space, formulation);
  for (int x = p.begin; x < p.end; ++x) {
    for (int y = formulation == SpinFormulation::spin_adapted ? p.begin : x; y < p.end; ++y) {
      for (int z = h.begin; z < h.end; ++z) {
        const PanelTiles tiles{x, y, z};
        ContractedIndex inner;
        if (right_contracted_index(space, formulation, tiles, inner) && wanted(space, formulation, tiles, inner))
          function(tiles);
      }
    }
  }
}

/// Blocks of <pp'||hh'>, or of (p h|p' h') in the spin-adapted form.
template <typename Function>
void for_each_pair_block(const TileSpace& space, SpinFormulation formulation, Function function) {
  const TileRange p = particles_of(space, formulation), h = holes_of(space, formulation);
  for (int p1 = p.begin; p1 < p.end; ++p1) {
    for (int p2 = p1; p2 < p.end; ++p2) {
      for (int h1 = h.begin; h1 < h.end; ++h1) {
        for (int h2 = formulation == SpinFormulation::spin_adapted ? h.begin : h1; h2 < h.end; ++h2) {
          const bool exists = formulation == SpinFormulation::spin_adapted
                                  ? (space[p1].irrep ^ space[p2].irrep ^ space[h1].irrep ^ space[h2].irrep) == 0
                                  : block_exists(space, p1, p2, h1, h2);
          if (exists) function(p1, p2, h1, h2, space[p1].size * space[p2].size * space[h1].size * space[h2].size);
        }
      }
    }
  }
}

/// By all threads, which spreads the pages over the memory of all processors, and on all spans at a time, which may be
/// files of shared memory.
void set_to_zero(const std::vector<std::span<double>>& spans) {
  constexpr std::size_t at_once = std::size_t{1} << 18;
  std::size_t longest = 0;
  for (const std::span<double>& span : spans) longest = std::max(longest, span.size());
  const std::size_t steps = (longest + at_once - 1) / at_once;
#pragma omp parallel for schedule(static, 1)
  for (std::size_t n = 0; n < steps * spans.size(); ++n) {
    const std::span<double> span = spans[n % spans.size()];
    const std::size_t begin = std::min(span.size(), n / spans.size() * at_once);
    const std::size_t count = std::min(at_once, span.size() - begin);
    std::fill_n(span.data() + begin, count, 0.0);
  }
}

std::int64_t rows(const TileSpace& space, const PanelTiles& tiles) {
  return space[tiles[0]].size * space[tiles[1]].size * space[tiles[2]].size;
}

ContractedExtent extent_of(const TileSpace& space, SpinFormulation formulation, const PanelTiles& tiles, bool left) {
  ContractedIndex inner;
  if (left) {
    left_contracted_index(space, formulation, tiles, inner);
  } else {
    right_contracted_index(space, formulation, tiles, inner);
  }
  return contracted_extent(space, inner);
}

}  // namespace

PanelStore::Layout PanelStore::layout(Kind kind, const PanelTiles& tiles, Side side) const {
  const auto [particles, holes] = extent_of(tiles_, formulation_, tiles, kind == Kind::left);
  const std::int64_t total = particles + holes;
  // Every row of the right side runs d | l. In a two-sided problem the left side's run l | d, and right panels hold
  // both as l | d | l.
  if (!two_sided_) return {padded(total), 0, 0, particles};
  const std::int64_t stride = padded(kind == Kind::left ? total : total + holes);
  if (side == Side::left) return {stride, 0, holes, 0};
  return kind == Kind::left ? Layout{stride, 0, 0, particles} : Layout{stride, holes, holes, total};
}

std::int64_t PanelStore::key(const PanelTiles& tiles) const {
  const std::int64_t n = tiles_.size();
  return tiles[0] + n * (tiles[1] + n * tiles[2]);
}

std::int64_t PanelStore::pair_key(int p1, int p2, int h1, int h2) const {
  const std::int64_t n = tiles_.size();
  return p1 + n * (p2 + n * (h1 + n * h2));
}

/// Calls `left(tiles, side)`, `right(tiles)` and `pairs(number of factors, tiles, size)` in the order of the line.
template <typename Left, typename Right, typename Pairs>
void PanelStore::walk_line(Left left, Right right, Pairs pairs) const {
  for (const Side side : {Side::right, Side::left}) {
    if (side == Side::left && !two_sided_) continue;
    for_each_left_panel(tiles_, formulation_, [&](const PanelTiles& tiles) { left(tiles, side); });
  }
  for_each_right_panel(tiles_, formulation_, right);
  for (std::size_t set = 0; set < disconnected_.size(); ++set) {
    for_each_pair_block(tiles_, formulation_, [&](int p1, int p2, int h1, int h2, std::int64_t size) {
      pairs(set, std::array<int, 4>{p1, p2, h1, h2}, size);
    });
  }
}

void PanelStore::visit(const PanelVisitor& visitor) const {
  walk_line([&](const PanelTiles& tiles, Side side) { visitor.left(tiles, side, left_shelf(side).at(key(tiles))); },
            [&](const PanelTiles& tiles) { visitor.right(tiles, right_.at(key(tiles))); },
            [&](std::size_t set, const std::array<int, 4>& t, std::int64_t) {
              visitor.pairs(set, t, disconnected_[set].pairs.at(pair_key(t[0], t[1], t[2], t[3])));
            });
}

void PanelStore::plan_line(std::span<const OperandShare> shares) {
  std::int64_t line = 0;
  std::vector<std::int64_t> begins;
  const auto append = [&](Shelf& shelf, std::int64_t name, std::int64_t doubles) {
    shelf.emplace(name, Place{line, doubles});
    begins.push_back(line);
    line += doubles;
  };
  walk_line(
      [&](const PanelTiles& tiles, Side side) {
        append(side == Side::left ? left_of_left_side_ : left_, key(tiles),
               rows(tiles_, tiles) * layout(Kind::left, tiles, side).stride);
      },
      [&](const PanelTiles& tiles) {
        append(right_, key(tiles), rows(tiles_, tiles) * layout(Kind::right, tiles, Side::right).stride);
      },
      [&](std::size_t set, const std::array<int, 4>& t, std::int64_t size) {
        append(disconnected_[set].pairs, pair_key(t[0], t[1], t[2], t[3]), size);
      });
  begins.push_back(line);
  // Every piece ends with the first panel that reaches its share of the line.
  const auto panel_at = [&](double share) {
    const auto at = static_cast<std::int64_t>(share * static_cast<double>(line));
    return *std::lower_bound(begins.begin(), begins.end(), std::min(at, line));
  };
  double all = 0.0, before = 0.0;
  for (const OperandShare& share : shares) all += share.share;
  for (std::size_t rank = 0; rank < shares.size(); ++rank) {
    const auto [share, pieces] = shares[rank];
    for (int n = 0; n < pieces; ++n) {
      begins_.push_back(panel_at((before + share * n / pieces) / all));
      ranks_.push_back(static_cast<int>(rank));
    }
    before += share;
  }
  begins_.push_back(line);
  const auto own = std::equal_range(ranks_.begin(), ranks_.end(), rank_);
  own_begin_ = begins_[static_cast<std::size_t>(own.first - ranks_.begin())];
  own_end_ = begins_[static_cast<std::size_t>(own.second - ranks_.begin())];
  own_.resize(ranks_.size());
}

std::int64_t PanelStore::required_doubles(const Problem& problem, const TileSpace& tiles) {
  std::int64_t doubles = 0;
  const int sides = problem.two_sided() ? 2 : 1;
  for_each_left_panel(tiles, problem.formulation, [&](const PanelTiles& panel) {
    doubles += sides * rows(tiles, panel) * padded(extent_of(tiles, problem.formulation, panel, true).total());
  });
  for_each_right_panel(tiles, problem.formulation, [&](const PanelTiles& panel) {
    const ContractedExtent extent = extent_of(tiles, problem.formulation, panel, false);
    doubles += rows(tiles, panel) * padded(extent.particles + sides * extent.holes);
  });
  for_each_pair_block(tiles, problem.formulation, [&](int, int, int, int, std::int64_t size) {
    doubles += (problem.fock_in_singles ? 2 : 1) * size;
  });
  return doubles;
}

std::int64_t PanelStore::doubles_in_use(const Problem& problem, const TileSpace& tiles) {
  std::int64_t left = 0, right = 0;
  const int sides = problem.two_sided() ? 2 : 1;
  for_each_left_panel(tiles, problem.formulation, [&](const PanelTiles& panel) {
    left = std::max(left, rows(tiles, panel) * padded(extent_of(tiles, problem.formulation, panel, true).total()));
  });
  for_each_right_panel(tiles, problem.formulation, [&](const PanelTiles& panel) {
    const ContractedExtent extent = extent_of(tiles, problem.formulation, panel, false);
    right = std::max(right, rows(tiles, panel) * padded(extent.particles + sides * extent.holes));
  });
  const auto [h, p] = largest_tiles(tiles);
  const std::int64_t terms = disconnected_terms(problem.formulation) * (problem.fock_in_singles ? 2 : 1);
  return left + right + terms * h * h * p * p;
}

PanelStore::PanelStore(const Problem& problem, const TileSpace& tiles, int rank, std::span<const OperandShare> shares)
    : PanelStore(problem, tiles, rank, shares, Buffer()) {}

// Room first: where there is none, no list of countless panels is made.
PanelStore::PanelStore(const Problem& problem, const TileSpace& tiles)
    : PanelStore(problem, tiles, 0, all_of_them,
                 Buffer(static_cast<std::size_t>(required_doubles(problem, tiles) + vector_margin))) {
  advise_large_pages(alone_.data(), alone_.size() * sizeof(double));
  own_.front() = alone_.data();
  fill_own(problem, buffered_alone);
}

PanelStore::PanelStore(const Problem& problem, const TileSpace& tiles, int rank, std::span<const OperandShare> shares,
                       Buffer alone)
    : formulation_(problem.formulation),
      two_sided_(problem.two_sided()),
      tiles_(tiles),
      disconnected_(problem.fock_in_singles ? 2 : 1),
      rank_(rank),
      alone_(std::move(alone)) {
  const auto energies = problem.right->orbital_energies();
  eps_.assign(energies.begin(), energies.end());
  eps_.resize(eps_.size() + vector_margin, 0.0);
  plan_line(shares);
}

std::vector<SharedSegment> PanelStore::pieces() const {
  std::vector<SharedSegment> pieces;
  // Energies read runs of particles in full vectors, beyond the end of the last run too.
  for (std::size_t n = 0; n < ranks_.size(); ++n) {
    pieces.push_back({ranks_[n], begins_[n + 1] - begins_[n] + vector_margin});
  }
  return pieces;
}

void PanelStore::fill(const Problem& problem, std::unique_ptr<SharedArray> array, std::int64_t buffer_bytes) {
  array_ = std::move(array);
  for (std::size_t n = 0; n < ranks_.size(); ++n) {
    if (ranks_[n] == rank_) own_[n] = array_->local(n).data();
  }
  fill_own(problem, std::min(buffered_alone, buffer_bytes / static_cast<std::int64_t>(sizeof(double))));
}

void PanelStore::fill_own(const Problem& problem, std::int64_t most_buffered) {
  std::vector<std::span<double>> own;
  for (std::size_t n = 0; n < own_.size(); ++n) {
    const auto doubles = static_cast<std::size_t>(begins_[n + 1] - begins_[n] + vector_margin);
    if (own_[n] != nullptr) own.emplace_back(own_[n], doubles);
  }
  set_to_zero(own);
  for (Disconnected& factors : disconnected_) {
    factors.lone.assign(static_cast<std::size_t>(tiles_.orbitals() * tiles_.orbitals() + vector_margin), 0.0);
  }
  PanelLoader(*this, most_buffered).load(problem);
}

void PanelStore::fetch_others(std::int64_t cache_bytes) {
  const auto fetch = [this](std::int64_t at, std::span<double> values) {
    const std::size_t piece = piece_of({at, std::ssize(values)});
    array_->get(piece, at - begins_[piece], values);
  };
  others_ = std::make_unique<RemotePanels>(fetch, cache_bytes);
}

std::size_t PanelStore::piece_of(const Place& place) const {
  return static_cast<std::size_t>(std::upper_bound(begins_.begin(), begins_.end(), place.begin) - begins_.begin()) - 1;
}

int PanelStore::owner(const Place& place) const {
  return ranks_[piece_of(place)];
}

double* PanelStore::own(const Place& place) const {
  const std::size_t piece = piece_of(place);
  return own_[piece] + (place.begin - begins_[piece]);
}

const PanelStore::Place* PanelStore::find(const Shelf& shelf, std::int64_t key) {
  const auto it = shelf.find(key);
  return it == shelf.end() ? nullptr : &it->second;
}

PanelHold PanelStore::hold(const Place& place) const {
  if (owns(place)) return PanelHold(own(place));
  return others_->hold(place.begin, place.doubles);
}

void PanelStore::ask(const Place* place) const {
  if (others_ && place != nullptr && !owns(*place)) others_->ask(place->begin, place->doubles);
}

Panel PanelStore::left(const PanelTiles& tiles, Side side) const {
  const Place* place = find(left_shelf(side), key(tiles));
  if (place == nullptr) return {};
  const Layout row = layout(Kind::left, tiles, side);
  PanelHold panel = hold(*place);
  return {panel.data() + row.begin, row.stride, std::move(panel)};
}

Panel PanelStore::right(const PanelTiles& tiles, Side side) const {
  const Place* place = find(right_, key(tiles));
  if (place == nullptr) return {};
  const Layout row = layout(Kind::right, tiles, side);
  PanelHold panel = hold(*place);
  return {panel.data() + row.begin, row.stride, std::move(panel)};
}

PanelHold PanelStore::pair_block(const Disconnected& factors, int p1, int p2, int h1, int h2) const {
  const Place* place = find(factors.pairs, pair_key(p1, p2, h1, h2));
  return place == nullptr ? PanelHold() : hold(*place);
}

template <typename Use>
void PanelStore::for_each_place(const Task& task, const ContractionList& contractions, Use use) const {
  const auto use_found = [&](const Place* place) {
    if (place != nullptr) use(*place);
  };
  for (const Product& product : contractions.products) {
    use_found(find(left_, key(product.left)));
    use_found(find(right_, key(product.right)));
  }
  for (const Product& product : contractions.products) use_found(find(left_of_left_side_, key(product.left)));
  for (const DisconnectedTerm& term : contractions.disconnected) {
    const auto [p1, p2, h1, h2] = term.vvoo_tiles(task);
    for (const Disconnected& factors : disconnected_) use_found(find(factors.pairs, pair_key(p1, p2, h1, h2)));
  }
}

void PanelStore::ask(const Task& task, const ContractionList& contractions) const {
  if (others_) for_each_place(task, contractions, [&](const Place& place) { ask(&place); });
}

std::int64_t PanelStore::bytes_to_fetch(std::span<const Task> tasks) const {
  std::unordered_set<std::int64_t> seen;
  std::int64_t doubles = 0;
  ContractionList contractions;
  for (const Task& task : tasks) {
    list_contractions(tiles_, formulation_, task, contractions);
    for_each_place(task, contractions, [&](const Place& place) {
      if (!owns(place) && seen.insert(place.begin).second) doubles += place.doubles;
    });
  }
  return doubles * static_cast<std::int64_t>(sizeof(double));
}

std::int64_t PanelStore::own_bytes() const {
  return (own_end_ - own_begin_) * static_cast<std::int64_t>(sizeof(double));
}

std::int64_t PanelStore::bytes_of_others() const {
  return begins_.back() * static_cast<std::int64_t>(sizeof(double)) - own_bytes();
}

}  // namespace trifuse
