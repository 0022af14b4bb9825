#pragma once

#include <memory>

#include "tce_tiles/nwchem_source.hpp"
#include "tce_tiles/tile_source.hpp"

namespace trifuse {

/// Opens whatever amplitudes the user names: a Trifuse dump (HDF5) or NWChem's files by their prefix or directory;
/// other members of the location matter for NWChem only. NWChem's files must not change from then on (see
/// `WatchedSource`).
std::unique_ptr<TileSource> open_source(const NwchemLocation& location);

}  // namespace trifuse
