#include "tce_tiles/tiles/tile_sizes.hpp"

#include <algorithm>

namespace trifuse {

TileSizes largest_tiles(const TileSpace& tiles) {
  TileSizes largest{0, 0};
  for (const Tile& tile : tiles.tiles()) {
    std::int64_t& size = tile.space() == Space::hole ? largest.holes : largest.particles;
    size = std::max(size, tile.size);
  }
  return largest;
}

}
