#include "tce_tiles/open_source.hpp"

#include "tce_tiles/dump_source.hpp"
#include "tce_tiles/hdf5_file.hpp"
#include "tce_tiles/watched_source.hpp"

namespace trifuse {

std::unique_ptr<TileSource> open_source(const NwchemLocation& location) {
  if (!is_hdf5(location.prefix)) return std::make_unique<WatchedSource>(open_nwchem(location));
  // Tile sizes for reading the file: large enough for long runs, small enough for memory.
  constexpr std::int64_t hole_tile = 4, particle_tile = 32;
  return open_dump(location.prefix, hole_tile, particle_tile);
}

}  // namespace trifuse
