#pragma once

#include <cstdint>

#include "cxx/operands/panel_layout.hpp"

namespace trifuse::gpu {

/// A slab of factors on the device: rows of equal length. Each row is padded to an even length, so that two doubles can
/// be loaded at once.
struct SlabShape {
  std::int64_t rows;    ///< [p, Q] of factors_vv, [h, p] of factors_ov, [h, l] of factors_oo
  std::int64_t length;  ///< particles d of factors_vv, else auxiliary functions Q
  constexpr std::int64_t stride() const { return even_row(length); }
  constexpr std::int64_t bytes() const { return rows * stride() * static_cast<std::int64_t>(sizeof(double)); }
  /// Returns the length of a padded row, in doubles.
  static constexpr std::int64_t even_row(std::int64_t length) { return (length + 1) / 2 * 2; }
};

/// Returns the shape of the slab with this key. `auxiliary`: number of auxiliary functions.
inline SlabShape slab_shape(const TileSpace& tiles, std::int64_t auxiliary, const PanelKey& key) {
  const Tile& first = tiles[key.tiles[0]];
  if (key.kind == PanelKind::factors_ov) return {first.size * tiles[key.tiles[1]].size, auxiliary};
  const std::int64_t of_irrep = tiles.range(first.orbital_class, key.tiles[1]).size;
  if (key.kind == PanelKind::factors_oo) return {first.size * of_irrep, auxiliary};
  return {first.size * auxiliary, of_irrep};
}

}
