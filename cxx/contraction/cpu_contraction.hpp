#pragma once

#include <string>

#include "cxx/contraction/cpu_plan.hpp"
#include "cxx/contraction/description.hpp"

#pragma GCC visibility push(default)

namespace trifuse::contraction {

/// A contraction on CPU cores by BLAS. Planned once, in less than a millisecond, and run often.
///
///     const CpuContraction contraction(describe("aebf,dfce->abcd", {{10, 30, 10, 30}}, {{10, 30, 10, 30}}), threads);
///     contraction.run(1.0, a, b, 0.0, c);
///
/// The same machine gives the same bits on any number of threads.
class CpuContraction {
 public:
  /// Plans a contraction. `threads`: at least 1, and no more than startable_threads() allows. Makes BLAS run each call
  /// on the calling thread only. Throws SystemError if the memory does not suffice for one thread.
  CpuContraction(const Contraction& contraction, int threads);
  /// The same with a plan of candidates_for_cpu() for this contraction, which must be in the canonical form.
  CpuContraction(const Contraction& contraction, const CpuPlan& plan, int threads);

  /// Computes C = alpha sum A B + beta C.
  ///
  /// `a`, `b`, `c`: the elements at offset 0; may be null if the tensor has no elements. C must not share memory with A
  /// and B. C is not read if `beta` is 0; A and B are not read if `alpha` is 0 or the sum has no terms. Several threads
  /// may call this at the same time. Throws std::bad_alloc.
  void run(double alpha, const double* a, const double* b, double beta, double* c) const;

  /// Describes the plan in one line.
  std::string text() const;

 private:
  void prepare(int threads);

  Contraction contraction_;  ///< in the canonical form
  bool has_products_;
  int threads_ = 1;
  CpuPlan plan_;
};

}

#pragma GCC visibility pop
