#include "tce_tiles/sources/open_source.hpp"

#include "cxx/base/printable.hpp"
#include "tce_tiles/dump_files/dump_source.hpp"
#include "tce_tiles/hdf5/hdf5_file.hpp"
#include "tce_tiles/tiles/watched_source.hpp"

namespace trifuse {

std::unique_ptr<TileSource> open_source(const NwchemLocation& location) {
  expect_whole_path(location.prefix);
  if (!is_hdf5(location.prefix)) return std::make_unique<WatchedSource>(open_nwchem(location));
  return open_dump(location.prefix, dense_hole_tile, dense_particle_tile);
}

}
