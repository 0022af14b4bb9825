#include "cxx/cuda/kernel_entry.cuh"

/// Compiled for compute capability 9.0 alone, where warps can hand each other registers.
namespace trifuse::gpu {

Kernel bulk_m16n8k8_4x4x2() {
  return kernel_entry<Configuration<Fp64, MatrixLarge, Staging::bulk, 4, 4, 2, 4>>("bulk-m16n8k8-4x4x2", true);
}

}  // namespace trifuse::gpu
