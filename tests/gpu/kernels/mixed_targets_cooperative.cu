#include "cxx/cuda/kernel/kernel_entry.cuh"
#include "tests/gpu/kernels/mixed_targets.hpp"
#include "tests/gpu/kernels/stored_targets.cuh"

namespace trifuse::gpu {

Kernel mixed_targets_cooperative() {
  return describe_kernel<MixedCooperative>("mixed-targets-cooperative", [](SpinFormulation, EnergyKind) {
    return kernel_function<StoredTargets<MixedCooperative>>();
  });
}

}
