#pragma once

#include <memory>
#include <string>

#include "cxx/contraction/description.hpp"

#pragma GCC visibility push(default)

namespace trifuse::contraction {

struct GpuModel;    // of gpu_plan.hpp
struct GpuProgram;  // of gpu_program.hpp

/// A contraction whose tensors are in the memory of one GPU. Planned once, in less than a millisecond, and run often.
///
///     GpuContraction contraction(describe("aebf,dfce->abcd", {{10, 30, 10, 30}}, {{10, 30, 10, 30}}), 0);
///     contraction.start(1.0, a, b, 0.0, c, nullptr);
///
/// All runs on GPUs of the same model give the same bits, if they find the same tuned plans. A process reads those in
/// the folder TRIFUSE_CACHE when it plans its first contraction; see drivers/docs/contraction.md.
class GpuContraction {
 public:
  /// Plans a contraction. `device`: number of a visible GPU, see visible_devices(); it becomes the current one of the
  /// calling thread. Throws UsageError if there is no such GPU, if the program was built without CUDA, or if the
  /// contraction would need too many slices; DeviceMemoryError; and DeviceError.
  GpuContraction(const Contraction& contraction, int device);
  /// The same with one of candidate_programs() of this contraction, which must be in the canonical form.
  GpuContraction(const Contraction& contraction, const GpuProgram& program, int device);
  ~GpuContraction();
  GpuContraction(GpuContraction&&) noexcept;
  GpuContraction& operator=(GpuContraction&&) noexcept;

  /// Puts C = alpha sum A B + beta C on a stream and returns at once. The GPU becomes the current one of the calling
  /// thread.
  ///
  /// `a`, `b`, `c`: the elements at offset 0, in memory that the GPU can address; may be null if the tensor has no
  /// elements. C must not share memory with A and B. C is not read if `beta` is 0; A and B are not read if `alpha` is 0
  /// or the sum has no terms. `stream`: a cudaStream_t of the GPU; null is CUDA's default stream. Runs of one object
  /// share memory for partial sums and for a packed operand, so a run waits for the one before, also on another stream;
  /// threads must not call this at once. The destructor waits for the last run. Throws DeviceMemoryError if there is no
  /// memory for partial sums, and DeviceError; then work of a first slice may be pending.
  void start(double alpha, const double* a, const double* b, double beta, double* c, void* stream);

  /// Describes the plan in one line. A tuned one begins with "tuned: ".
  std::string text() const;

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

/// Returns the properties of a visible GPU on which plans depend. Throws UsageError in a build without CUDA, and
/// DeviceError.
GpuModel gpu_model(int device);

}

#pragma GCC visibility pop
