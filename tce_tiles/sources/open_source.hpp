#pragma once

#include <memory>

#include "tce_tiles/nwchem_files/nwchem_source.hpp"
#include "tce_tiles/tiles/tile_source.hpp"

#pragma GCC visibility push(default)

namespace trifuse {

/// Opens the amplitudes that the user names. `location.prefix`: path of a Trifuse dump (HDF5), or prefix or directory
/// of NWChem's files. The other members of `location` are for NWChem's files only. NWChem's files must not change
/// afterwards (see `WatchedSource`). Throws UsageError if the prefix contains a null character, InputError if the input
/// is missing or damaged.
std::unique_ptr<TileSource> open_source(const NwchemLocation& location);

}

#pragma GCC visibility pop
