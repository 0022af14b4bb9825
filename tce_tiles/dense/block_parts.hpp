#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <vector>

#include "tce_tiles/dense/array_specs.hpp"
#include "tce_tiles/tiles/tile_space.hpp"

/// Blocks of t2 and v2 as sums of boxes of dense arrays.
namespace trifuse {

/// A box of an array that is a part of a block, multiplied by `sign`. Axis k of the array belongs to tile `axes[k]` of
/// the block, whose orbitals are the range of the box along this axis.
struct BlockPart {
  ArrayKind kind;
  Spin first, second;  ///< of the array; of a restricted reference alpha and beta
  std::array<std::size_t, 4> axes;
  double sign;
};

/// Returns the parts of t2[p1,p2,h3,h4].
std::vector<BlockPart> parts_of_t2(const TileSpace& space, const std::array<int, 4>& tiles);

/// Returns the parts of v2[g3,g4,g1,g2] with the integrals <pp||hh>, <hp||hh>, <pp||hp> or <hp||hp>, whose tiles ascend
/// in each pair. `antisymmetrised`: returns true if the array of two equal spins is an `asym_` array.
std::vector<BlockPart> parts_of_v2(const TileSpace& space, const std::array<int, 4>& tiles,
                                   const std::function<bool(ArrayKind kind, Spin spin)>& antisymmetrised);

}
