#pragma once

#include "cxx/cuda/kernel/kernel_entry.cuh"

/// Compiled for compute capability 9.0 alone, where warps can hand each other registers.
namespace trifuse::gpu {

template <int sub_a, int sub_b, int sub_c>
Kernel bulk_kernel() {
  return kernel_entry<Configuration<Fp64, MatrixLarge, Staging::bulk, sub_a, sub_b, sub_c, 4>>("bulk-m16n8k8", true);
}

}  // namespace trifuse::gpu
