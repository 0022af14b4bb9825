#pragma once

#include <cuda_runtime_api.h>

#include <span>
#include <string>

#include "cxx/cuda/schedule/configuration.hpp"
#include "cxx/cuda/schedule/kernel_parameters.hpp"
#include "cxx/triples/task.hpp"

/// The compiled kernels, without templates.
namespace trifuse::gpu {

/// Memory of a block.
struct CtaMemory {
  int dynamic_shared;  ///< bytes asked for by the launch
  int static_shared;   ///< bytes besides
  int scratch;         ///< doubles in device memory for each target
};

struct Kernel {
  std::string family;       ///< instruction and staging
  std::string name;         ///< family and sub-box of a warp
  int architecture;         ///< least compute capability, e.g. 900 for 9.0
  bool exact_architecture;  ///< machine code for this compute capability alone
  Shape shape;
  int k_step;  ///< inner indices of one instruction
  int threads;
  CtaMemory spin_orbital, spin_adapted;
  /// The device function of a form.
  const void* (*function)(Form form, bool two_sided);

  const CtaMemory& memory(Form form) const { return form == Form::spin_adapted ? spin_adapted : spin_orbital; }
};

/// All kernels, best first.
std::span<const Kernel> kernels();

/// Whether a device of this compute capability (e.g. 900) and shared memory for a block can run it.
bool runs_on(const Kernel& kernel, int capability, int shared_bytes);

/// Makes the kernel's wish for shared memory known to the current device.
void set_dynamic_shared_limit(const Kernel& kernel, Form form, bool two_sided);
void launch(const Kernel& kernel, Form form, bool two_sided, int grid, const KernelParameters& parameters,
            cudaStream_t stream);

/// Registers, local memory (spills) and shared memory of a compiled kernel.
struct KernelResources {
  int registers;
  std::int64_t local_bytes;
};
KernelResources resources(const Kernel& kernel, Form form, bool two_sided);

/// Adds up the sums of each task's CTA tiles, always in the same order: out [sums of the form, omega2, task]. Sets the
/// counter of CTA tiles back to zero.
void launch_task_sums(const KernelParameters& parameters, Form form, int warps, int tasks, double* out,
                      cudaStream_t stream);

/// Packs what of a panel the raw data at hand fills.
void launch_packing(const Packing& packing, const double* raw, double* packed, cudaStream_t stream);

}  // namespace trifuse::gpu
