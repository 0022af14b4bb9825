#include "cxx/cuda/kernel/kernel_entry.cuh"

/// For Ampere.
namespace trifuse::gpu {

Kernel m8n8k4_4x4x2() {
  return kernel_entry<Configuration<Fp64, MatrixSmall, Staging::cooperative, 4, 4, 2, 3>>("m8n8k4");
}

}  // namespace trifuse::gpu
