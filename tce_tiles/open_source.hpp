#pragma once

#include <memory>
#include <optional>
#include <string>

#include "tce_tiles/nwchem_source.hpp"
#include "tce_tiles/tile_source.hpp"

namespace trifuse {

/// Opens whatever amplitudes the user names: a Trifuse dump (HDF5) or NWChem's files by their prefix or directory;
/// other members of the location matter for NWChem only.
std::unique_ptr<TileSource> open_source(const NwchemLocation& location);

/// Which part of the check of a dump one of several processes does; all parts together are the whole.
struct CheckShare {
  int part = 0, parts = 1;
};

/// Reads everything once and throws InputError with one sentence when the numbers are not what they claim to be: see
/// `check_dump` and `check_consistency`. `integrals` is the source of integrals, which may be `amplitudes` itself.
/// Integrals for the left are those of the right, and have been verified with it. Returns the recomputed CCSD
/// correlation energy where there is one. Of a dump several processes may check a share each; what the energy is made
/// of each of them reads, and all of NWChem's files.
std::optional<double> verify_source(const TileSource& amplitudes, const TileSource& integrals,
                                    const CheckShare& share = {});

}  // namespace trifuse
