#pragma once

#include <atomic>
#include <span>
#include <string>
#include <vector>

#include "tce_tiles/dense/dense_input.hpp"
#include "tce_tiles/factors/factor_uses.hpp"

namespace trifuse {

/// The check of factors in place of the integrals that they give. It reads the factors of two particles once, and the
/// processes of a job share this reading. The absolute value of an integral (pq|rs) is at most the root of (pq|pq)
/// (rs|rs), so only the integrals (pq|pq) are made.
///
/// Order of calls: check_holes(), run(), sum the results of all processes, accept().
class FactorCheck {
 public:
  /// `input` must have factors and outlive the check.
  explicit FactorCheck(const DenseInput& input);

  /// Checks the factors with holes on at most `threads` threads. Throws InputError if (ij|ij) or (ia|ia) is beyond any
  /// reasonable size.
  void check_holes(int threads) const;
  /// Returns the length of the result of run().
  std::size_t size() const { return size_; }
  /// Reads part `part` of `parts` of the auxiliary functions on at most `threads` threads, and returns their part of
  /// (ab|ab). Throws InputError if an element is not finite or if the factors are not symmetric; throws Interrupted
  /// soon after `*stop` becomes true. `stop` may be null. `others`: other uses of the same factors, see visit_once().
  std::vector<double> run(int part, int parts, int threads, const std::atomic<bool>* stop,
                          std::span<const FactorUse> others = {}) const;
  /// Throws InputError if (ab|ab) is beyond any reasonable size. `sums`: the sums of run() over all parts.
  void accept(std::span<const double> sums) const;

 private:
  void check_holes(const FactorSpec& spec, int threads) const;

  const DenseInput& input_;
  std::vector<FactorSpec> holes_, particles_;  ///< the factors with holes, and the factors of two particles
  std::size_t size_ = 0;
};

}
