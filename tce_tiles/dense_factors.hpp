#pragma once

#include <span>

#include "tce_tiles/factor_source.hpp"

namespace trifuse {

/// The factors of an input with dense arrays, which also has the factors of two holes.
class DenseFactors : public FactorSource {
 public:
  /// Reads B[Q,i,j] of two ranges of holes of one spin into `out` [i,j,Q].
  virtual void read_oo(const ClassOrbitals& i, const ClassOrbitals& j, std::span<double> out) const = 0;
  /// Reads the factors of two particles into memory with all threads, for a reader of many elements of ovvv or oovv.
  /// Otherwise the first read of such an element does it. They leave the memory as the factors of acquire_factors() do.
  /// `stop`: as of acquire_factors().
  virtual void load_vv(const std::atomic<bool>* stop) const = 0;
};

}  // namespace trifuse
