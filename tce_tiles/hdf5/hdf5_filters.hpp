#pragma once

#include <span>
#include <string>

#include "tce_tiles/hdf5/hdf5_chunks.hpp"

namespace trifuse {

/// Undoes the filters of a chunk. `bytes`: the bytes of the chunk in the file. `out`: has room for exactly the
/// `chunks.bytes` bytes of the chunk. Returns null on success, otherwise the reason for the failure.
const char* unpack_chunk(const Hdf5Chunks& chunks, const Hdf5Chunk& chunk, std::string bytes, std::span<char> out);

}
