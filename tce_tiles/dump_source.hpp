#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "tce_tiles/dump_file.hpp"
#include "tce_tiles/tile_source.hpp"

namespace trifuse {

inline constexpr std::size_t default_dump_cache_bytes = std::size_t{256} << 20;

/// Opens a Trifuse dump and cuts its arrays into tiles of at most the sizes given.
///
/// The header is checked here and every value that is read must be finite; that the arrays have the symmetries they
/// claim is the business of `check_dump` (dump_check.hpp), which a run calls once. Of V2 the classes that triples need
/// can be read: {p p|h h}, {h p|h h} and {p p|h p}. The source may be used from several threads.
std::unique_ptr<TileSource> open_dump(const std::string& path, std::int64_t hole_tile, std::int64_t particle_tile,
                                      std::size_t cache_bytes = default_dump_cache_bytes);

/// The file of a source that `open_dump` has made; null for any other.
const DumpFile* dump_file_of(const TileSource& source);

}  // namespace trifuse
