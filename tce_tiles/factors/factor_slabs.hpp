#pragma once

#include <span>

#include "tce_tiles/tiles/factor_source.hpp"

namespace trifuse {

/// A slab: the factors B[Q,p,d] of two ranges of particles p and d of one spin, for all Q.
struct FactorSlab {
  ClassOrbitals p, d;
  std::span<double> values;  ///< [p,Q,d]
};

/// Fills slabs. Reads the factors of each spin at most once, on at most `threads` threads. Passes on exceptions of the
/// source.
void read_slabs(const FactorSource& source, std::span<const FactorSlab> slabs, int threads);

}
