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

/// The name of a panel. If a right panel belongs to both sides (PanelLayout::joins_sides), `side` names the part of the
/// panel that is read.
struct PanelKey {
  PanelKind kind;
  Side side = Side::right;  ///< for left and right panels; Side::right for the others
  std::uint8_t set = 0;     ///< for vvoo blocks: number of the set, see Problem::disconnected_set(); else 0
  /// Numbers of tiles: left {p, h, h'}, right {p, p', h}, vvoo {p, p', h, h'}, factors_ov {h, p}; factors_vv {p, irrep
  /// of d}, factors_oo {h, irrep of l}, d and l have the spin of p and h. Factors of restricted spaces have tiles of
  /// alpha orbitals.
  std::array<int, 4> tiles{};
  auto operator<=>(const PanelKey&) const = default;

  static PanelKey left(const PanelTiles& t, Side side) { return {PanelKind::left, side, 0, {t[0], t[1], t[2], 0}}; }
  static PanelKey right(const PanelTiles& t, Side side) { return {PanelKind::right, side, 0, {t[0], t[1], t[2], 0}}; }
  static PanelKey vvoo(std::size_t set, const std::array<int, 4>& tiles) {
    return {PanelKind::vvoo, Side::right, static_cast<std::uint8_t>(set), tiles};
  }
  static PanelKey factors_vv(int p, int irrep) { return {PanelKind::factors_vv, Side::right, 0, {p, irrep}}; }
  static PanelKey factors_oo(int h, int irrep) { return {PanelKind::factors_oo, Side::right, 0, {h, irrep}}; }
  static PanelKey factors_ov(int h, int p) { return {PanelKind::factors_ov, Side::right, 0, {h, p}}; }
};

/// The position and the length of a panel in the linear layout, in doubles.
struct PanelExtent {
  std::int64_t begin, doubles;
};

/// The layout of the rows of a left or right panel, in doubles. `stride`: distance between the starts of two rows. The
/// other numbers are offsets from the start of a row. A side reads the row from `begin` on. The particles of the
/// contracted index begin at `particle_part`, its holes at `hole_part`.
struct PanelRows {
  std::int64_t stride, begin, particle_part, hole_part;
  /// Returns the offset of the part that is made from factors: the holes of a left panel, the particles of a right
  /// panel.
  std::int64_t made_part(PanelKind kind) const { return kind == PanelKind::left ? hole_part : particle_part; }
  /// Returns the offset of the other part, the amplitudes.
  std::int64_t amplitude_part(PanelKind kind) const { return kind == PanelKind::left ? particle_part : hole_part; }
};

/// A section [begin, end) of the linear layout, in doubles. `rank`: its owner.
struct PanelSection {
  int rank;
  std::int64_t begin, end;
};

/// Returns the length of a row with `numbers` elements, in doubles: rounded up to a multiple of 8, so that each row
/// begins at a vector.
constexpr std::int64_t padded_row(std::int64_t numbers) {
  return (numbers + 7) / 8 * 8;
}

/// The panels of a problem: their names, sizes, order and owners. The layout knows neither the elements nor the memory
/// of panels.
///
/// Matrix products read rows with a contiguous contracted index: first its particles d, then its holes l. Each side of
/// a problem has panels of its own, with one exception: if two sides have the same integrals, one right panel belongs
/// to both, with rows t2_left(l) | v2(d) | t2_right(l). Each side reads a contiguous part of a row, so the
/// integrals of right panels are stored once. Therefore l comes first on the left side of such a problem.
///
/// If the integrals of a problem have factors (TileSource::factors), the layout has only the amplitudes of left and
/// right panels, and slabs of factors instead of the integrals: the particles t2(d) of left panels, the holes t2(l) or
/// t2_left(l) | t2_right(l) of right panels. The whole rows are made from them, see factor_products.hpp. So no panel of
/// the layout grows like the integrals. Its vvoo blocks of integrals are empty; they are made from factors, too.
///
/// All panels stand one after another in the linear layout. Their order depends only on the problem and its tiles. The
/// linear layout is divided into sections. The sections of one rank are adjacent.
class PanelLayout {
 public:
  /// The shares with which rank 0 owns all panels.
  static constexpr OperandShare undivided[] = {{}};

  /// Builds the layout. `problem`: the layout depends on its formulation, on its number of sides, on whether they have
  /// the same integrals, on its disconnected sets, and on the number of auxiliary functions of its factors. Throws
  /// std::logic_error if there are sides with different integrals and one of them has factors. `tiles`: the tiles of
  /// the panels, for the orbitals of the problem. `shares`: shares[rank], the part of each rank.
  PanelLayout(const Problem& problem, const TileSpace& tiles, std::span<const OperandShare> shares = undivided)
      : PanelLayout(problem, tiles, shares, auxiliary_of(problem),
                    auxiliary_of(problem) > 0 ? Rows::amplitudes : Rows::whole) {}
  /// Returns the layout of all panels as tasks read them, also of those that are made from factors. Parameters are
  /// those of the constructor.
  static PanelLayout of_whole_panels(const Problem& problem, const TileSpace& tiles) {
    return {problem, tiles, undivided, 0, Rows::whole};
  }
  /// Returns a layout with only the amplitudes of left and right panels, and all vvoo blocks.
  static PanelLayout of_amplitudes(const Problem& problem, const TileSpace& tiles) {
    return {problem, tiles, undivided, 0, Rows::amplitudes};
  }

  SpinFormulation formulation() const { return formulation_; }
  /// Returns true if one right panel belongs to both sides of the problem.
  bool joins_sides() const { return joins_sides_; }
  /// Returns the sides that have panels of their own of this kind, and the sides whose amplitudes such a panel
  /// contains.
  std::span<const Side> sides_with_panels(PanelKind kind) const;
  std::span<const Side> sides_in_panel(const PanelKey& key) const;
  const TileSpace& tiles() const { return tiles_; }
  /// Returns the number of sets of disconnected triples, see Problem::disconnected_set().
  std::size_t sets() const { return sets_.size(); }

  /// Returns the number of auxiliary functions of the factors; 0 if the layout has integrals.
  std::int64_t auxiliary() const { return auxiliary_; }
  bool has_factors() const { return auxiliary_ > 0; }
  /// Returns true if left and right panels have their integrals, false if they have only amplitudes.
  bool has_whole_rows() const { return rows_ == Rows::whole; }
  /// Returns true if a panel, or a part of its rows, is made from slabs of factors.
  bool makes(const PanelKey& key) const;

  /// Returns the extent of a panel; null if the problem has no such panel. With factors, the extent of a left or right
  /// panel is the extent of its amplitudes; it is empty if there are none. The extent of a vvoo block of integrals is
  /// then empty.
  const PanelExtent* find(const PanelKey& key) const;
  /// Returns the tiles of a key as one number. Panels of one kind, side and set have different numbers.
  std::int64_t number_of(const PanelKey& key) const {
    const std::int64_t n = tiles_.size();
    const auto& t = key.tiles;
    return t[0] + n * (t[1] + n * (t[2] + n * t[3]));
  }
  /// Returns the number of particles d and holes l of a left or right panel.
  ContractedExtent contracted(const PanelKey& key) const;
  /// Returns the rows of a whole left or right panel, as tasks read it.
  PanelRows rows(const PanelKey& key) const;
  /// Returns the rows of a left or right panel in the layout. They differ from `rows` if there are only amplitudes;
  /// then the part of the integrals has no meaning.
  PanelRows stored_rows(const PanelKey& key) const;
  /// Returns the length of a whole left or right panel, or of a vvoo block, in doubles.
  std::int64_t whole_doubles(const PanelKey& key) const;
  /// Calls `use` with the extent of a panel, and of each slab of factors from which it is made. Leaves out empty
  /// extents.
  void visit_parts_of(const PanelKey& key, const std::function<void(const PanelExtent& extent)>& use) const;
  /// Calls `use` once for each panel of the layout that is not empty, in the order of the layout.
  void visit(const std::function<void(const PanelKey& key, const PanelExtent& extent)>& use) const;
  /// Calls `use` with the keys of the panels that a task reads. The problem may have no panel for a key. `task`: a task
  /// of `tiles()`. `contractions`: its contraction list.
  void visit_panels_of(const Task& task, const ContractionList& contractions,
                       const std::function<void(const PanelKey& key)>& use) const;

  /// Returns the length of all panels, in doubles.
  std::int64_t doubles() const { return sections_.back().end; }
  /// Returns all sections, in the order of the layout. A rank with `segments` 0 has no section.
  std::span<const PanelSection> sections() const { return sections_; }
  /// Returns the number of the section that contains a panel, and the rank that owns the panel.
  std::size_t section_of(const PanelExtent& extent) const;
  int owner(const PanelExtent& extent) const { return sections_[section_of(extent)].rank; }

  /// Returns the number of auxiliary functions of a problem; 0 if it has no factors. The problem may have no sources.
  static std::int64_t auxiliary_of(const Problem& problem);
  /// Returns the length of all panels of a problem, in doubles, and builds no layout.
  static std::int64_t required_doubles(const Problem& problem, const TileSpace& tiles);
  /// Returns the length of all panels of of_amplitudes(), in doubles.
  static std::int64_t amplitude_doubles(const Problem& problem, const TileSpace& tiles);
  /// Returns the length of all left, right and vvoo panels as tasks read them, in doubles. It is the same as
  /// `required_doubles` if there are no factors.
  static std::int64_t whole_doubles(const Problem& problem, const TileSpace& tiles);
  /// Returns the length of all whole panels that are made from factors, in doubles; 0 if there are no factors.
  static std::int64_t made_doubles(const Problem& problem, const TileSpace& tiles);
  /// Returns an upper limit for the panels that a task of the CPU executor uses at the same time, in doubles. With
  /// factors, it includes the slabs and the amplitudes from which one panel is made. No panel of the layout is longer.
  static std::int64_t doubles_in_use(const Problem& problem, const TileSpace& tiles);

 private:
  /// What the rows of left and right panels contain.
  enum class Rows : std::uint8_t { whole, amplitudes };
  PanelLayout(const Problem& problem, const TileSpace& tiles, std::span<const OperandShare> shares,
              std::int64_t auxiliary, Rows rows);
  using Index = std::unordered_map<std::int64_t, PanelExtent>;
  /// Positions in `indices_`: left panels [side], right panels [side], slabs of factors, vvoo blocks [set].
  static constexpr std::size_t of_left = 0, of_right = of_left + max_sides, of_factors_vv = of_right + max_sides,
                               of_factors_ov = of_factors_vv + 1, of_factors_oo = of_factors_ov + 1,
                               of_vvoo = of_factors_oo + 1;
  template <typename Use>
  void walk(Use use) const;
  /// Returns the length of a panel in the layout, in doubles.
  std::int64_t size_of(const PanelKey& key) const;
  /// Returns the position in `indices_` of the index that contains a key.
  std::size_t index_of(const PanelKey& key) const;
  /// Divides the linear layout into sections. `begins`: the begin of each panel, then the end of the last one.
  void divide(std::span<const OperandShare> shares, const std::vector<std::int64_t>& begins);

  SpinFormulation formulation_;
  int sides_;
  bool joins_sides_;
  std::vector<DisconnectedSet> sets_;
  std::int64_t auxiliary_;
  Rows rows_;
  TileSpace tiles_;
  std::vector<Index> indices_;  ///< see of_left ... of_vvoo; one more for each further set
  std::vector<PanelSection> sections_;
};

}
