#pragma once

#include <string>

#include "tce_tiles/hdf5_chunks.hpp"

namespace trifuse {

/// Undoes what the filters did to a chunk. `stored`: its bytes in the file. On success `out` holds the bytes of the
/// chunk, as many as it has in memory, and the result is null; else the result says what is wrong.
const char* unpack_chunk(const Hdf5Chunks& chunks, const Hdf5Chunk& chunk, std::string stored, std::string& out);

}  // namespace trifuse
