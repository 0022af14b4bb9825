#include "cxx/cuda/kernel/kernel_entry.cuh"

/// For GPUs without FP64 matrix units.
namespace trifuse::gpu {

Kernel fma_2x2x2() {
  return kernel_entry<Configuration<Fp64, MultiplyAdd, Staging::cooperative, 2, 2, 2, 1>>("fma");
}

}  // namespace trifuse::gpu
