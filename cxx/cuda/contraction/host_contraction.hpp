#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cxx/contraction/slices.hpp"

namespace trifuse::contraction {

/// A contraction on GPUs whose tensors are in the memory of the host. They go to the GPUs in slices. The copies of a
/// slice overlap with the computing of another one, and the GPUs of the process share the slices.
///
///     const HostContraction contraction(describe("aebf,dfce->abcd", {{10, 30, 10, 30}}, {{10, 30, 10, 30}}), {0, 1});
///     contraction.run(1.0, a, b, 0.0, c);
///
/// GPUs of the same model give the same bits, however many there are, if the limit of memory is the same: the slices
/// depend on it, and if they find the same tuned plans (GpuContraction). The default limit depends on the free memory
/// only if the tensors do not fit into it.
class HostContraction {
 public:
  /// `devices`: numbers of visible GPUs that the kernels support, at least one, see choose_devices(). `memory`: limit
  /// of the memory for tensors on each GPU, bytes; 0: seven eighths of the memory that is free on each of them.
  /// `threads`: at least 1, to copy tensors in the host's memory. Leaves the current GPU of the calling thread as it
  /// is.
  ///
  /// Throws UsageError if `memory` is too small or the program was built without CUDA, and DeviceError.
  HostContraction(const Contraction& contraction, std::vector<int> devices, std::int64_t memory, int threads);

  /// Computes C = alpha sum A B + beta C and waits for the result.
  ///
  /// `a`, `b`, `c`: the elements at offset 0; may be null if the tensor has no elements. C must not share memory with A
  /// and B. C is not read if `beta` is 0; A and B are not read if `alpha` is 0 or the sum has no terms. The GPUs round
  /// alpha sum A B to double precision; the host adds beta C. Throws DeviceMemoryError if a GPU has too little memory
  /// for the slices, and DeviceError; then C has no meaning.
  void run(double alpha, const double* a, const double* b, double beta, double* c) const;

  /// Describes the slices in one line.
  std::string text() const;

 private:
  Slices slices_;
  std::vector<int> devices_;
  int threads_;
};

}
