#pragma once

#include <cstdint>

#include "tce_tiles/tiles/tile_space.hpp"

#pragma GCC visibility push(default)

namespace trifuse {

/// Numbers of orbitals of a hole tile and of a particle tile.
struct TileSizes {
  std::int64_t holes, particles;
  bool operator==(const TileSizes&) const = default;
};

/// Returns the sizes of the largest hole tile and of the largest particle tile of a space; 0 where it has no such tile.
TileSizes largest_tiles(const TileSpace& tiles);

}

#pragma GCC visibility pop
