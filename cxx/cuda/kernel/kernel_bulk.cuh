#pragma once

#include "cxx/cuda/kernel/kernel_entry.cuh"

/// Compiled for compute capability 9.0 only, where warps can pass registers to each other (setmaxnreg).
namespace trifuse::gpu {

template <int warp_tile_a, int warp_tile_b, int warp_tile_c>
Kernel bulk_kernel() {
  return kernel_entry<Configuration<Fp64, MmaM16N8K8, Staging::bulk, warp_tile_a, warp_tile_b, warp_tile_c, 4>>(
      "bulk-m16n8k8", true);
}

}  // namespace trifuse::gpu
