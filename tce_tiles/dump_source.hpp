#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "tce_tiles/dense_source.hpp"
#include "tce_tiles/dump_file.hpp"
#include "tce_tiles/tile_source.hpp"

namespace trifuse {

/// Tile sizes for reading an input: large enough for long runs of a file, small enough for memory.
inline constexpr std::int64_t dump_hole_tile = 4, dump_particle_tile = 32;
/// Default memory for recently read parts of a dump, in bytes.
inline constexpr std::size_t default_dump_cache_bytes = std::size_t{256} << 20;

/// Opens a Trifuse dump. Its tiles have at most `hole_tile` and `particle_tile` orbitals.
///
/// This function checks the header, and the source checks that every value it reads is finite. `check_dump`
/// (dump_check.hpp) checks the symmetries of the arrays; a run calls it once. The source delivers the blocks of V2 that
/// triples need, {p p|h h}, {h p|h h} and {p p|h p}, and {h p|h p} if the dump has oovv. The source is thread-safe. It
/// keeps about `cache_bytes` bytes of recently read data in memory. Throws InputError if the file is not a dump or is
/// damaged, and UsageError if a tile size is below 1.
std::unique_ptr<TileSource> open_dump(const std::string& path, std::int64_t hole_tile, std::int64_t particle_tile,
                                      std::size_t cache_bytes = default_dump_cache_bytes);

/// Makes the same source from an input that is open, e.g. the arrays of a caller.
std::unique_ptr<TileSource> open_input(std::shared_ptr<const DenseInput> input, std::int64_t hole_tile,
                                       std::int64_t particle_tile, std::size_t cache_bytes = default_dump_cache_bytes);

/// The open file of a source that `open_dump` has made; null for every other source.
const DumpFile* dump_file_of(const TileSource& source);

}  // namespace trifuse
