#include "tce_tiles/dump_files/dump_source.hpp"

#include "tce_tiles/dump_files/dump_file.hpp"

namespace trifuse {

std::unique_ptr<TileSource> open_dump(const std::string& path, std::int64_t hole_tile, std::int64_t particle_tile,
                                      std::size_t cache_bytes) {
  return open_dense(std::make_shared<const DumpFile>(DumpFile::open(path)), hole_tile, particle_tile, cache_bytes);
}

}
