#pragma once

#include <cstdint>

#include "tce_tiles/tiles/blocks.hpp"

/// The blocks of whole V2 tensors. Trifuse itself reads only some of them, and finds them by formulas.
namespace trifuse::testing {

/// Returns all existing blocks of V2 in spin-orbital storage, in storage order:
/// v2[g3,g4,g1,g2] = <g3 g4||g1 g2> = (g3 g1|g4 g2) - (g3 g2|g4 g1).
inline BlockIndex v2_blocks(const TileSpace& space) {
  BlockIndex index;
  for (int g3 = 0; g3 < space.size(); ++g3) {
    for (int g4 = g3; g4 < space.size(); ++g4) {
      for (int g1 = 0; g1 < space.size(); ++g1) {
        for (int g2 = g1; g2 < space.size(); ++g2) {
          if (!block_exists(space, g3, g4, g1, g2)) continue;
          index.add({g3, g4, g1, g2}, v2_key(space, g3, g4, g1, g2),
                    space[g3].size * space[g4].size * space[g1].size * space[g2].size);
        }
      }
    }
  }
  return index;
}

/// Returns all blocks of V2 in `2eorb` storage, in storage order. Their tiles {j, i, l, k} are numbers of spatial tiles
/// with j <= i, l <= k and pair(i,j) >= pair(k,l), where pair(i,j) = i (i + 1) / 2 + j. A block contains (ij|kl) as
/// v2[l,k,j,i].
inline BlockIndex v2_spatial_blocks(const TileSpace& space, const SpatialTiles& spatial) {
  BlockIndex index;
  const auto tile = [&](int s) -> const Tile& { return space[spatial.alpha_tile[static_cast<std::size_t>(s)]]; };
  const auto pair = [](std::int64_t high, std::int64_t low) { return high * (high + 1) / 2 + low; };
  const std::int64_t n = spatial.size();
  for (int j = 0; j < spatial.size(); ++j) {
    for (int i = j; i < spatial.size(); ++i) {
      for (int l = 0; l < spatial.size(); ++l) {
        for (int k = l; k < spatial.size(); ++k) {
          if ((tile(i).irrep ^ tile(j).irrep ^ tile(k).irrep ^ tile(l).irrep) != 0 || pair(i, j) < pair(k, l)) continue;
          index.add({j, i, l, k}, k + n * (l + n * (i + n * j)),
                    tile(i).size * tile(j).size * tile(k).size * tile(l).size);
        }
      }
    }
  }
  return index;
}

}
