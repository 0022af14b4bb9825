#include "cxx/cuda/kernel/kernel_entry.cuh"

/// For GPUs after Hopper.
namespace trifuse::gpu {

Kernel m16n8k8_4x4x2() {
  return kernel_entry<Configuration<Fp64, MatrixLarge, Staging::cooperative, 4, 4, 2, 2>>("m16n8k8");
}

}  // namespace trifuse::gpu
