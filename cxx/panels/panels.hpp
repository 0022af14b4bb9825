#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "cxx/base/buffer.hpp"
#include "cxx/triples/problem.hpp"
#include "cxx/triples/recipe.hpp"

namespace trifuse {

/// A panel in memory: `rows` vectors over the inner index, each contiguous, `stride` doubles apart.
struct Panel {
  const double* data = nullptr;
  std::int64_t stride = 0;
};

/// Which amplitudes a product is made of.
enum class Side : std::uint8_t { right, left };

/// All operands of a problem in the shape in which matrix products read them, built once from the tile sources.
///
/// The rows of a left panel (p, h, h') stand as [p, h', h], those of a right panel (p, p', h) as [p', p, h], the first
/// being the fastest, and each row holds its inner index contiguously: particles d, then holes l. Two-sided problems
/// keep one right panel for both sides, with rows t2_left(l) | v2(d) | t2_right(l), of which either side reads a
/// contiguous part, so integrals are stored once.
class PanelStore {
 public:
  PanelStore(const Problem& problem, const TileSpace& tiles);

  /// Null data where the panel has no inner index.
  Panel left(const PanelTiles& tiles, Side side) const;
  Panel right(const PanelTiles& tiles, Side side) const;

  /// Disconnected factors of the left side: one (t1, v2) and with Fock in the singles one more (f, t2).
  struct Disconnected {
    std::vector<double> lone;  ///< [orbitals, orbitals], particle fastest
    std::unordered_map<std::int64_t, std::size_t> offset;
    Buffer pairs;  ///< blocks [p', p, h', h], p' fastest
  };
  const std::vector<Disconnected>& disconnected() const { return disconnected_; }
  const double* pair_block(const Disconnected& factors, int p1, int p2, int h1, int h2) const;

  std::span<const double> orbital_energies() const { return eps_; }
  const TileSpace& tiles() const { return tiles_; }

  /// What `PanelStore` will hold, in doubles, without building it.
  static std::int64_t required_doubles(const Problem& problem, const TileSpace& tiles);

 private:
  friend class PanelLoader;
  struct Shelf {
    std::unordered_map<std::int64_t, std::size_t> offset;
    std::int64_t doubles = 0;
    Buffer data;
  };
  enum class Kind : std::uint8_t { left, right };
  /// Rows of a panel are `stride` apart. A side reads `extent` doubles from `begin` on; particles and holes start at
  /// their parts.
  struct Layout {
    std::int64_t stride, begin, particle_part, hole_part;
  };
  Layout layout(Kind kind, const PanelTiles& tiles, Side side) const;
  void plan_shelves();
  std::int64_t key(const PanelTiles& tiles) const;
  std::int64_t pair_key(int p1, int p2, int h1, int h2) const;

  Form form_;
  bool two_sided_;
  TileSpace tiles_;
  std::vector<double> eps_;
  Shelf left_, left_of_left_side_, right_;
  std::vector<Disconnected> disconnected_;
};

}  // namespace trifuse
