#include "tests/gpu/kernels/other_schedules.hpp"

#include "cxx/cuda/kernel/kernel_entry.cuh"
#include "tests/gpu/kernels/stored_targets.cuh"
#include "tests/support/schedules.hpp"

namespace trifuse::gpu {

Kernel stored_targets_cooperative() {
  using Config = Configuration<Fp64, Fma, Staging::cooperative, 2, 2, 2, 1, ShuffledSchedule>;
  return describe_kernel<Config>("stored-targets-fma",
                                 [](SpinFormulation, EnergyKind) { return kernel_function<StoredTargets<Config>>(); });
}

Kernel reversed_energies() {
  using Config = Configuration<Fp64, Fma, Staging::cooperative, 2, 2, 2, 1, ReversedSchedule>;
  return describe_kernel<Config>("reversed-fma", [](SpinFormulation formulation, EnergyKind) {
    return formulation == SpinFormulation::spin_adapted ? kernel_function<SpinAdaptedEnergies<1, Config>>()
                                                        : kernel_function<SpinOrbitalEnergies<1, Config>>();
  });
}

}
