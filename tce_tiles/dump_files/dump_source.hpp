#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "tce_tiles/dense/dense_tiles.hpp"
#include "tce_tiles/tiles/tile_source.hpp"

namespace trifuse {

/// Opens a Trifuse dump as a source, see `open_dense`. Throws InputError if the file is not a dump or is damaged, and
/// UsageError if a tile size is below 1.
std::unique_ptr<TileSource> open_dump(const std::string& path, std::int64_t hole_tile, std::int64_t particle_tile,
                                      std::size_t cache_bytes = default_strip_cache_bytes);

}
