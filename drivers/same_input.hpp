#pragma once

#include <string>

#include "cxx/base/communicator.hpp"
#include "tce_tiles/tile_source.hpp"

namespace trifuse::cli {

/// True if this path leads to the same regular file on all ranks, not to copies of it. Collective. Compares inode
/// number, size and time of the file. The path may belong to different mounts on different hosts. False if a rank does
/// not find the file.
bool same_file(Communicator& communicator, const std::string& path);

/// Throws InputError on all ranks unless all ranks have read the same numbers. Collective. Compares the digests of the
/// sources; a source without a digest counts as equal to another source without one.
void expect_same_numbers(Communicator& communicator, const TileSource& source);

}  // namespace trifuse::cli
