#include "cxx/cuda/kernel/kernel_bulk.cuh"

namespace trifuse::gpu {

Kernel bulk_2x4x4() {
  return bulk_kernel<2, 4, 4>();
}

}  // namespace trifuse::gpu
