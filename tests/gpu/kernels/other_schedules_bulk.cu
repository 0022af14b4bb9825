#include "cxx/cuda/kernel/kernel_entry.cuh"
#include "tests/gpu/kernels/other_schedules.hpp"
#include "tests/gpu/kernels/stored_targets.cuh"
#include "tests/support/schedules.hpp"

/// Compiled for compute capability 9.0 only, like the bulk kernels of the program.
namespace trifuse::gpu {

Kernel stored_targets_bulk() {
  using Config = Configuration<Fp64, MmaM16N8K8, Staging::bulk, 4, 4, 2, 4, ShuffledSchedule>;
  return describe_kernel<Config>("stored-targets-bulk",
                                 [](SpinFormulation, EnergyKind) { return kernel_function<StoredTargets<Config>>(); });
}

}
