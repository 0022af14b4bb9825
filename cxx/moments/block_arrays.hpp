#pragma once

#include "cxx/moments/rotated_inputs.hpp"
#include "tce_tiles/dense/dense_input.hpp"
#include "tce_tiles/tiles/tile_source.hpp"

namespace trifuse::moments {

/// Returns an input with the whole arrays of a source that delivers all classes of integrals as blocks
/// (TileSource::has_all_integrals()), for methods with moments: amplitudes, the Fock matrix if it is there, ovvv, ovoo,
/// ovov, oovv, oooo, kvvv and vvvv_diag. Those of two equal spins are antisymmetrised, and (ab|ab) is subtracted from
/// (aa|bb). Arrays are made when they are read; no array is larger than o v^3. `source` must outlive the result.
/// `semicanonical`: as of arrays_of().
DenseInput arrays_of_blocks(const TileSource& source, const OrbitalsToBe& semicanonical);

}
