#pragma once

#include <span>

#include "tce_tiles/factor_source.hpp"

namespace trifuse {

/// The factors of an input with dense arrays, which also has the factors of two holes.
class DenseFactors : public FactorSource {
 public:
  /// Reads B[Q,i,j] of two ranges of holes of one spin into `out` [i,j,Q].
  virtual void read_oo(const ClassOrbitals& i, const ClassOrbitals& j, std::span<double> out) const = 0;
};

}  // namespace trifuse
