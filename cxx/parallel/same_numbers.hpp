#pragma once

#include "cxx/base/communicator.hpp"
#include "tce_tiles/tiles/tile_source.hpp"

namespace trifuse {

/// Throws InputError on all ranks unless all ranks have read the same numbers. Collective. Compares the digests of the
/// sources; a source without a digest counts as equal to another source without one.
void expect_same_numbers(Communicator& communicator, const TileSource& source);

}
