#pragma once

#include <memory>

#include "tce_tiles/sources/synthetic_source.hpp"

namespace trifuse {

/// Makes a made-up molecule with factors, as `make_synthetic_source` does. `molecule.auxiliary` must be at least 1. The
/// source has the dense arrays of a dump of version 2 (see `open_dense`); it computes their elements on request.
/// Throws UsageError if the sizes are not possible.
std::unique_ptr<TileSource> open_synthetic_factors(const SyntheticMolecule& molecule);

}
