#include "tce_tiles/open_source.hpp"

#include "cxx/base/printable.hpp"
#include "tce_tiles/dump_source.hpp"
#include "tce_tiles/hdf5_file.hpp"
#include "tce_tiles/watched_source.hpp"

namespace trifuse {

std::unique_ptr<TileSource> open_source(const NwchemLocation& location) {
  expect_whole_path(location.prefix);
  if (!is_hdf5(location.prefix)) return std::make_unique<WatchedSource>(open_nwchem(location));
  return open_dump(location.prefix, dump_hole_tile, dump_particle_tile);
}

}  // namespace trifuse
