#pragma once

#include <cstdint>
#include <memory>

#include "tce_tiles/dense/dense_arrays.hpp"
#include "tce_tiles/tiles/factor_source.hpp"

namespace trifuse {

/// The factors B[Q,p,q] of one pair of spaces, which are read in bands of auxiliary functions Q. Thread-safe.
class FactorBands {
 public:
  /// `array`: the factors, with the shape [naux,p_count,q_count], or packed as [naux,p_count(p_count+1)/2] with p >= q.
  /// `symmetric`: true if p and q are orbitals of the same space.
  FactorBands(std::shared_ptr<const DenseArray> array, std::int64_t p_count, std::int64_t q_count, bool symmetric);

  const DenseArray& array() const { return *array_; }
  std::int64_t auxiliary() const { return auxiliary_; }
  std::int64_t p_count() const { return p_count_; }
  std::int64_t q_count() const { return q_count_; }
  bool symmetric() const { return symmetric_; }

  /// A band: `planes` [count,p_count,q_count]. The upper triangle of symmetric factors is a copy of the lower one.
  struct Band {
    std::int64_t begin, count;
    const double* planes;
  };
  /// Reads the auxiliary functions [begin, end) and calls `visit` for each band, on at most `threads` threads at the
  /// same time. Each thread needs memory for about 1.5 bands: 24 MB or 12 p_count q_count bytes, whichever is more.
  /// Throws InputError if an element is not finite, or if the factors are not symmetric.
  void visit(std::int64_t begin, std::int64_t end, int threads, const std::function<void(const Band&)>& visit) const;

 private:
  void check_symmetry(const double* plane, std::int64_t auxiliary) const;

  const std::shared_ptr<const DenseArray> array_;
  const std::int64_t auxiliary_, p_count_, q_count_;
  const bool symmetric_;
};

}
