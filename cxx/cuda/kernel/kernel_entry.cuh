#pragma once

#include "cxx/cuda/kernel/launch.hpp"
#include "cxx/cuda/kernel/spin_adapted_energies.cuh"
#include "cxx/cuda/kernel/spin_orbital_energies.cuh"
#include "cxx/cuda/kernel/triples_kernel.cuh"

namespace trifuse::gpu {

template <SpinFormulation formulation, typename Config>
constexpr CtaMemory cta_memory() {
  return {Config::dynamic_shared_bytes(formulation),
          static_cast<int>(sizeof(typename Stages<formulation, Config>::Shared)),
          Config::accumulators * Config::warps * 32};
}

/// Describes kernels of a configuration. `family`, `exact_architecture`, `function`: see Kernel. The file that takes
/// the address of a kernel for `function` compiles the kernel.
template <typename Config>
Kernel describe_kernel(const std::string& family, bool exact_architecture,
                       const void* (*function)(SpinFormulation formulation, bool two_sided)) {
  using Precision = typename Config::Precision;
  constexpr int size = sizeof(typename Precision::Operand);
  const std::string warp_tile = std::to_string(Config::warp_tile_a) + "x" + std::to_string(Config::warp_tile_b) + "x" +
                                std::to_string(Config::warp_tile_c);
  return {family,
          family + "-" + warp_tile,
          Config::Instruction::architecture,
          exact_architecture,
          {{Config::warp_tile_a, Config::warp_tile_b, Config::warp_tile_c},
           Config::warps,
           Config::stage_bytes,
           Precision::a_k_tile * size,
           Precision::b_k_tile * size,
           Config::vvoo_bytes,
           Config::cta_particles},
          Precision::k_step,
          Config::threads,
          cta_memory<SpinFormulation::spin_orbital, Config>(),
          cta_memory<SpinFormulation::spin_adapted, Config>(),
          function};
}

/// The device function of an epilogue with its configuration.
template <typename Epilogue>
const void* kernel_function() {
  return reinterpret_cast<const void*>(&triples_kernel<Epilogue>);
}

/// Describes and compiles the four kernels of a configuration that compute energies.
template <typename Config>
Kernel kernel_entry(const std::string& family, bool exact_architecture = false) {
  return describe_kernel<Config>(family, exact_architecture, [](SpinFormulation formulation, bool two_sided) {
    if (formulation == SpinFormulation::spin_adapted) {
      return two_sided ? kernel_function<SpinAdaptedEnergies<true, Config>>()
                       : kernel_function<SpinAdaptedEnergies<false, Config>>();
    }
    return two_sided ? kernel_function<SpinOrbitalEnergies<true, Config>>()
                     : kernel_function<SpinOrbitalEnergies<false, Config>>();
  });
}

}  // namespace trifuse::gpu
