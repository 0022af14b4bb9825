#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "tce_tiles/dense/dense_source.hpp"

namespace trifuse {

/// Tile sizes for reading an input: large enough for long contiguous pieces of a file, small enough for memory.
inline constexpr std::int64_t dense_hole_tile = 4, dense_particle_tile = 32;

/// Default memory for recently read parts of an input, in bytes.
inline constexpr std::size_t default_strip_cache_bytes = std::size_t{256} << 20;

/// Makes a source of an open input. Tiles of holes have at most `hole_tile` orbitals, tiles of particles
/// `particle_tile`.
///
/// The source checks that every value it reads is finite. It does not check symmetries: `make_source_check`
/// (source_check.hpp) does this once for each job. The source delivers the blocks of V2 that triples need, {p p|h h},
/// {h p|h h} and {p p|h p}, and {h p|h p} if the input has oovv. The source is thread-safe. It keeps about
/// `cache_bytes` bytes of recently read data in memory. Throws UsageError if a tile size is below 1.
std::unique_ptr<DenseSource> open_dense(std::shared_ptr<const DenseInput> input, std::int64_t hole_tile,
                                        std::int64_t particle_tile,
                                        std::size_t cache_bytes = default_strip_cache_bytes);

}
