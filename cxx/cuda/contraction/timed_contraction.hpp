#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cxx/contraction/description.hpp"
#include "cxx/contraction/gpu_program.hpp"

/// Measures contractions on one GPU.
namespace trifuse::contraction {

/// A contraction whose tensors this object holds in the memory of a GPU.
class TimedContraction {
 public:
  /// Plans a contraction whose tensors have C order without gaps, and copies `a` and `b`, all elements, to the GPU.
  /// Throws as GpuContraction does, and DeviceMemoryError.
  TimedContraction(const Contraction& contraction, std::span<const double> a, std::span<const double> b, int device);
  ~TimedContraction();

  /// Computes the contraction by another program from now on, one of candidate_programs() of its canonical form. Throws
  /// DeviceMemoryError; then it has no plan. Throws DeviceError.
  void use(const GpuProgram& program);
  /// Describes the plan in one line.
  std::string plan() const;
  /// Computes C = sum A B. Returns the seconds. Before that the second-level cache holds none of the tensors. Throws
  /// DeviceError.
  double run();
  /// Computes a batch of products of n x n matrices by cuBLAS's batched DGEMM into memory of its own. Returns the
  /// seconds, or 0 if cuBLAS cannot be loaded. The expression must be "xik,xkj->xij" or "ik,xkj->xij". The caches are
  /// as for run(). Throws DeviceError.
  double run_cublas();
  /// Returns the elements of C after a run.
  std::vector<double> result() const;

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

/// Returns the bytes per second of a large copy on a GPU, read and written. Throws DeviceError.
double time_copy(int device);

}
