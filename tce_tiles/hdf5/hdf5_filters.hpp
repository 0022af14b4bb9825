#pragma once

#include <string>

#include "tce_tiles/hdf5/hdf5_chunks.hpp"

namespace trifuse {

/// Undoes the filters of a chunk. `stored`: the bytes of the chunk in the file. Returns null on success; then `out`
/// holds the `chunks.bytes` bytes of the chunk. Otherwise returns the reason for the failure.
const char* unpack_chunk(const Hdf5Chunks& chunks, const Hdf5Chunk& chunk, std::string stored, std::string& out);

}
