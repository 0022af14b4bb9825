#include "cxx/cuda/kernel/kernel_entry.cuh"
#include "tests/gpu/kernels/mixed_targets.hpp"
#include "tests/gpu/kernels/stored_targets.cuh"

namespace trifuse::gpu {

Kernel mixed_targets_bulk() {
  return describe_kernel<MixedWarpgroup>("mixed-targets-bulk", [](SpinFormulation, EnergyKind) {
    return kernel_function<StoredTargets<MixedWarpgroup>>();
  });
}

}
