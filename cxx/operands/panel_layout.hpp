#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "cxx/base/shared_array.hpp"
#include "cxx/triples/contraction_list.hpp"
#include "cxx/triples/problem.hpp"

namespace trifuse {

/// Which amplitudes a product is made of.
enum class Side : std::uint8_t { right, left };

/// Names a panel. Two-sided problems have one right panel for both sides, and `side` says which part of it is read.
struct PanelKey {
  enum class Kind : std::uint8_t {
    left,   ///< [h', h, p, x]: the left operand of products, contracted index x
    right,  ///< [h, p, p', x]: the right operand of products
    pairs,  ///< [h, h', p, p']: vvoo block of the disconnected triples, or t2 block beside f_ov
  };
  Kind kind;
  Side side = Side::right;     ///< of left and right panels
  std::uint8_t set = 0;        ///< of pairs: 0 beside t1, 1 beside f_ov
  std::array<int, 4> tiles{};  ///< left (p, h, h'), right (p, p', h), pairs (p, p', h, h')

  static PanelKey left(const PanelTiles& t, Side side) { return {Kind::left, side, 0, {t[0], t[1], t[2], 0}}; }
  static PanelKey right(const PanelTiles& t, Side side) { return {Kind::right, side, 0, {t[0], t[1], t[2], 0}}; }
  static PanelKey pairs(std::size_t set, const std::array<int, 4>& tiles) {
    return {Kind::pairs, Side::right, static_cast<std::uint8_t>(set), tiles};
  }
};

/// Where a panel stands in the linear layout, in doubles.
struct PanelExtent {
  std::int64_t begin, doubles;
};

/// Rows of a left or right panel, in doubles. Rows are `stride` apart. A side reads a row from `begin` on; the
/// particles of the contracted index start at `particle_part`, its holes at `hole_part`.
struct PanelRows {
  std::int64_t stride, begin, particle_part, hole_part;
};

/// A stretch of the linear layout that one rank owns, in doubles.
struct PanelSection {
  int rank;
  std::int64_t begin, end;
};

/// Doubles that a row of a panel takes for so many numbers: whole vectors.
constexpr std::int64_t padded_row(std::int64_t numbers) {
  return (numbers + 7) / 8 * 8;
}

/// Which panels a problem has, how large they are, in what order they stand, and which rank owns them. Knows no numbers
/// and no memory.
///
/// Matrix products read rows with a contiguous contracted index: particles d, then holes l. Two-sided problems keep one
/// right panel for both sides, with rows t2_left(l) | v2(d) | t2_right(l), of which either side reads a contiguous
/// part, so integrals are stored once.
///
/// All panels stand one after another in a linear layout, in an order that depends on the problem and its tiles alone.
/// Each rank owns sections of it that follow each other.
class PanelLayout {
 public:
  /// Rank 0 owns all panels.
  static constexpr OperandShare undivided[] = {{}};

  /// `tiles` cut the orbitals of the problem. `shares`: of each rank.
  PanelLayout(const Problem& problem, const TileSpace& tiles, std::span<const OperandShare> shares = undivided);

  SpinFormulation formulation() const { return formulation_; }
  bool two_sided() const { return two_sided_; }
  const TileSpace& tiles() const { return tiles_; }
  /// Sets of factors of the disconnected triples: t1 beside vvoo blocks, and with Fock in the singles f_ov beside t2.
  std::size_t sets() const { return indices_.size() - of_pairs; }

  /// Null if the problem has no such panel.
  const PanelExtent* find(const PanelKey& key) const;
  /// Of a left or right panel.
  PanelRows rows(const PanelKey& key) const;
  /// Calls `use` with each panel in the order of the layout, with a right panel once.
  void visit(const std::function<void(const PanelKey& key, const PanelExtent& extent)>& use) const;
  /// Calls `use` with the keys of the panels that a task reads; the problem may have no panel of a key.
  void visit_panels_of(const Task& task, const ContractionList& contractions,
                       const std::function<void(const PanelKey& key)>& use) const;

  /// Of all panels.
  std::int64_t doubles() const { return sections_.back().end; }
  /// In the order of the layout; a rank without a share has none.
  std::span<const PanelSection> sections() const { return sections_; }
  std::size_t section_of(const PanelExtent& extent) const;
  int owner(const PanelExtent& extent) const { return sections_[section_of(extent)].rank; }

  /// What all panels take, in doubles, without listing them.
  static std::int64_t required_doubles(const Problem& problem, const TileSpace& tiles);
  /// What a task of the CPU executor has in use at once, at most, in doubles.
  static std::int64_t doubles_in_use(const Problem& problem, const TileSpace& tiles);

 private:
  using Index = std::unordered_map<std::int64_t, PanelExtent>;
  static constexpr std::size_t of_left = 0, of_left_of_left_side = 1, of_right = 2, of_pairs = 3;
  template <typename Use>
  void walk(Use use) const;
  std::int64_t size_of(const PanelKey& key) const;
  std::int64_t number_of(const PanelKey& key) const;
  std::size_t index_of(const PanelKey& key) const;
  void divide(std::span<const OperandShare> shares, const std::vector<std::int64_t>& begins);

  SpinFormulation formulation_;
  bool two_sided_;
  TileSpace tiles_;
  std::vector<Index>
      indices_;  ///< of left panels of the right and of the left side, of right panels, of each set of pairs
  std::vector<PanelSection> sections_;
};

}  // namespace trifuse
