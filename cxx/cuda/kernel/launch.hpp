#pragma once

#include <cuda_runtime_api.h>

#include <span>
#include <string>

#include "cxx/cuda/schedule/configuration.hpp"
#include "cxx/cuda/schedule/work.hpp"
#include "cxx/triples/task.hpp"

/// The compiled kernels, without templates.
namespace trifuse::gpu {

/// Memory of a block.
struct BlockMemory {
  int shared_at_launch;  ///< bytes asked for by the launch
  int shared_fixed;      ///< bytes besides
  int kept;              ///< doubles in device memory for each target
};

struct Kernel {
  std::string family;       ///< instruction and staging
  std::string name;         ///< family and sub-box of a warp
  int architecture;         ///< least compute capability, e.g. 900 for 9.0
  bool exact_architecture;  ///< machine code for this compute capability alone
  Shape shape;
  int step;  ///< inner indices of one instruction
  int threads;
  BlockMemory spin_orbital, spin_adapted;
  /// The device function of a form.
  const void* (*function)(SpinFormulation formulation, bool two_sided);

  const BlockMemory& memory(SpinFormulation formulation) const {
    return formulation == SpinFormulation::spin_adapted ? spin_adapted : spin_orbital;
  }
};

/// All kernels, best first.
std::span<const Kernel> kernels();

/// Whether a device of this compute capability (e.g. 900) and shared memory for a block can run it.
bool runs_on(const Kernel& kernel, int capability, int shared_bytes);

/// Makes the kernel's wish for shared memory known to the current device.
void prepare(const Kernel& kernel, SpinFormulation formulation, bool two_sided);
void launch(const Kernel& kernel, SpinFormulation formulation, bool two_sided, int grid, const Work& work,
            cudaStream_t stream);

/// Registers, local memory (spills) and shared memory of a compiled kernel.
struct KernelResources {
  int registers;
  std::int64_t local_bytes;
};
KernelResources resources(const Kernel& kernel, SpinFormulation formulation, bool two_sided);

/// Adds up the sums of each task's items, always in the same order: out [sums of the form, omega2, task]. Sets the
/// counter of items back to zero.
void launch_task_sums(const Work& work, SpinFormulation formulation, int warps, int tasks, double* out,
                      cudaStream_t stream);

/// Packs what of a panel the raw data at hand fills.
void launch_packing(const Packing& packing, const double* raw, double* packed, cudaStream_t stream);

}  // namespace trifuse::gpu
