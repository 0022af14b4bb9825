#include "cxx/cuda/kernel/kernel_bulk.cuh"

namespace trifuse::gpu {

Kernel bulk_4x2x4() {
  return bulk_kernel<4, 2, 4>();
}

}  // namespace trifuse::gpu
