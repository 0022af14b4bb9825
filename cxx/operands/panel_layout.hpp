#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "cxx/base/shared_array.hpp"
#include "cxx/operands/panel_kind.hpp"
#include "cxx/triples/contraction_list.hpp"
#include "cxx/triples/problem.hpp"

namespace trifuse {

/// The amplitudes of a product: the right or the left ones of the problem. Problems with one set of amplitudes have
/// only the right side.
enum class AmplitudeSide : std::uint8_t { right, left };

/// The name of a panel. A two-sided problem stores one right panel for both sides; `side` then names the part of the
/// panel that is read.
struct PanelKey {
  PanelKind kind;
  AmplitudeSide side = AmplitudeSide::right;  ///< for left and right panels; AmplitudeSide::right for vvoo blocks
  std::uint8_t set = 0;                       ///< for vvoo blocks: number of the set in Method::sets(); else 0
  std::array<int, 4> tiles{};  ///< left {p, h, h'}, right {p, p', h}, vvoo {p, p', h, h'}; numbers of tiles
  auto operator<=>(const PanelKey&) const = default;

  static PanelKey left(const PanelTiles& t, AmplitudeSide side) {
    return {PanelKind::left, side, 0, {t[0], t[1], t[2], 0}};
  }
  static PanelKey right(const PanelTiles& t, AmplitudeSide side) {
    return {PanelKind::right, side, 0, {t[0], t[1], t[2], 0}};
  }
  static PanelKey vvoo(std::size_t set, const std::array<int, 4>& tiles) {
    return {PanelKind::vvoo, AmplitudeSide::right, static_cast<std::uint8_t>(set), tiles};
  }
};

/// The position and the length of a panel in the linear layout, in doubles.
struct PanelExtent {
  std::int64_t begin, doubles;
};

/// The layout of the rows of a left or right panel, in doubles. `stride`: distance between the starts of two rows. The
/// other numbers are offsets from the start of a row: a side reads the row from `begin` on, `particle_part` is the
/// first particle of the contracted index, `hole_part` its first hole.
struct PanelRows {
  std::int64_t stride, begin, particle_part, hole_part;
};

/// A section [begin, end) of the linear layout, in doubles. `rank`: its owner.
struct PanelSection {
  int rank;
  std::int64_t begin, end;
};

/// Length of a row with `numbers` elements, in doubles: rounded up to a multiple of 8, so that each row begins at a
/// vector.
constexpr std::int64_t padded_row(std::int64_t numbers) {
  return (numbers + 7) / 8 * 8;
}

/// The panels of a problem: their names, sizes, order and owners. The layout knows neither the elements nor the memory
/// of panels.
///
/// Matrix products read rows with a contiguous contracted index: first its particles d, then its holes l. On the left
/// side of a two-sided problem l comes first. Such a problem has one right panel for both sides, with rows t2_left(l) |
/// v2(d) | t2_right(l). Each side reads a contiguous part of a row, so integrals are stored once.
///
/// All panels stand one after another in the linear layout. Their order depends only on the problem and its tiles. The
/// linear layout is divided into sections. The sections of one rank are adjacent.
class PanelLayout {
 public:
  /// Rank 0 owns all panels.
  static constexpr OperandShare undivided[] = {{}};

  /// Builds the layout. `problem`: the layout depends on its formulation and on its numbers of sides and of
  /// disconnected sets. `tiles`: the tiles of the panels, for the orbitals of the problem. `shares`: shares[rank], the
  /// part of each rank.
  PanelLayout(const Problem& problem, const TileSpace& tiles, std::span<const OperandShare> shares = undivided);

  SpinFormulation formulation() const { return formulation_; }
  bool two_sided() const { return two_sided_; }
  const TileSpace& tiles() const { return tiles_; }
  /// Number of sets of factors of the disconnected triples, see Method::sets().
  std::size_t sets() const { return indices_.size() - of_vvoo; }

  /// Returns the extent of a panel; null if the problem has no such panel.
  const PanelExtent* find(const PanelKey& key) const;
  /// Returns the rows of a left or right panel.
  PanelRows rows(const PanelKey& key) const;
  /// Calls `use` once for each panel, in the order of the layout.
  void visit(const std::function<void(const PanelKey& key, const PanelExtent& extent)>& use) const;
  /// Calls `use` with the keys of the panels that a task reads. The problem may have no panel for a key. `task`: a task
  /// of `tiles()`. `contractions`: its contraction list.
  void visit_panels_of(const Task& task, const ContractionList& contractions,
                       const std::function<void(const PanelKey& key)>& use) const;

  /// Length of all panels, in doubles.
  std::int64_t doubles() const { return sections_.back().end; }
  /// All sections, in the order of the layout. A rank with `segments` 0 has none.
  std::span<const PanelSection> sections() const { return sections_; }
  /// Number of the section that contains a panel, and the rank that owns the panel.
  std::size_t section_of(const PanelExtent& extent) const;
  int owner(const PanelExtent& extent) const { return sections_[section_of(extent)].rank; }

  /// Returns the length of all panels of a problem, in doubles, and builds no layout.
  static std::int64_t required_doubles(const Problem& problem, const TileSpace& tiles);
  /// Returns an upper limit for the panels that a task of the CPU executor uses at the same time, in doubles.
  static std::int64_t doubles_in_use(const Problem& problem, const TileSpace& tiles);

 private:
  using Index = std::unordered_map<std::int64_t, PanelExtent>;
  /// Positions in `indices_`: left panels (of the right side), left panels of the left side, right panels, first set of
  /// vvoo blocks.
  static constexpr std::size_t of_left = 0, of_left_of_left_side = 1, of_right = 2, of_vvoo = 3;
  template <typename Use>
  void walk(Use use) const;
  /// Length of a panel, in doubles.
  std::int64_t size_of(const PanelKey& key) const;
  /// The tiles of a key as one number.
  std::int64_t number_of(const PanelKey& key) const;
  /// Position in `indices_` of the index that contains a key.
  std::size_t index_of(const PanelKey& key) const;
  /// Divides the linear layout into sections. `begins`: the begin of each panel, then the end of the last one.
  void divide(std::span<const OperandShare> shares, const std::vector<std::int64_t>& begins);

  SpinFormulation formulation_;
  bool two_sided_;
  TileSpace tiles_;
  std::vector<Index> indices_;  ///< see of_left ... of_vvoo; one more for each further set
  std::vector<PanelSection> sections_;
};

}  // namespace trifuse
