#pragma once

#include <string>

#include "cxx/base/communicator.hpp"
#include "tce_tiles/tile_source.hpp"

namespace trifuse::cli {

/// Whether this path leads all ranks to one and the same regular file, not to copies of it: collective. Judged by the
/// number of the file, its size and its time, so that hosts may have mounted its disk in different places. False where
/// any rank does not find a file.
bool same_file(Communicator& communicator, const std::string& path);

/// Throws InputError on all ranks unless all have read the same numbers, as far as sources tell: collective.
void expect_same_numbers(Communicator& communicator, const TileSource& source);

}  // namespace trifuse::cli
