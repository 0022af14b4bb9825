#include "cxx/cuda/kernel/kernel_entry.cuh"

/// The kernel for GPUs without FP64 matrix units.
namespace trifuse::gpu {

Kernel fma_2x2x2() {
  return kernel_entry<Configuration<Fp64, Fma, Staging::cooperative, 2, 2, 2, 1>>("fma");
}

}  // namespace trifuse::gpu
