#include "cxx/cuda/kernel/kernel_bulk.cuh"

namespace trifuse::gpu {

Kernel bulk_4x4x2() {
  return bulk_kernel<4, 4, 2>();
}

}  // namespace trifuse::gpu
