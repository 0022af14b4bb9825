#pragma once

#include "cxx/cuda/kernel/launch.hpp"
#include "cxx/cuda/kernel/spin_adapted_energies.cuh"
#include "cxx/cuda/kernel/spin_adapted_quotients.cuh"
#include "cxx/cuda/kernel/spin_orbital_energies.cuh"
#include "cxx/cuda/kernel/spin_orbital_quotients.cuh"
#include "cxx/cuda/kernel/triples_kernel.cuh"
#include "cxx/cuda/schedule/launch_shapes.hpp"

namespace trifuse::gpu {

template <SpinFormulation formulation, typename Config>
constexpr CtaMemory cta_memory() {
  return {Config::dynamic_shared_bytes(formulation),
          static_cast<int>(sizeof(typename Stages<formulation, Config>::Shared))};
}

/// Describes kernels of a configuration. `family`, `function`: see Kernel. The file that takes the address of a kernel
/// for `function` compiles the kernel.
template <typename Config>
Kernel describe_kernel(const std::string& family,
                       const void* (*function)(SpinFormulation formulation, EnergyKind kind)) {
  const std::string warp_tile = std::to_string(Config::warp_tile_a) + "x" + std::to_string(Config::warp_tile_b) + "x" +
                                std::to_string(Config::warp_tile_c);
  return {family,
          family + "-" + warp_tile,
          Config::architecture,
          Config::staging == Staging::bulk,
          shape_of<Config>(),
          Config::threads,
          cta_memory<SpinFormulation::spin_orbital, Config>(),
          cta_memory<SpinFormulation::spin_adapted, Config>(),
          cta_memory<SpinFormulation::spin_orbital, WithSecondLeft<Config>>(),
          cta_memory<SpinFormulation::spin_adapted, WithSecondLeft<Config>>(),
          function};
}

/// Returns the device function of an epilogue with its configuration.
template <typename Epilogue>
const void* kernel_function() {
  return reinterpret_cast<const void*>(&triples_kernel<Epilogue>);
}

/// Returns the device function with the epilogue Seeds for one side or two. seeds.cu and mixed_seeds.cu compile it.
template <int sides, typename Config>
const void* seeds_function(SpinFormulation formulation);

/// Returns the device function of an epilogue. Only kernels with bulk staging have seeds; others return null.
template <typename OneSide, typename TwoSides, typename Quotients, typename QuotientsOfThreeSides>
const void* kernel_of_kind(EnergyKind kind) {
  switch (kind) {
    case EnergyKind::one_side:
      return kernel_function<OneSide>();
    case EnergyKind::two_sides:
      return kernel_function<TwoSides>();
    case EnergyKind::seeds:
    case EnergyKind::seeds_of_two_sides:
      using Config = typename OneSide::Config;
      if constexpr (Config::staging == Staging::bulk) {
        return kind == EnergyKind::seeds ? seeds_function<1, Config>(OneSide::formulation)
                                         : seeds_function<2, Config>(OneSide::formulation);
      }
      return nullptr;
    case EnergyKind::quotients:
      return kernel_function<Quotients>();
    case EnergyKind::quotients_of_three_sides:
      break;
  }
  return kernel_function<QuotientsOfThreeSides>();
}

/// Describes the kernels of a configuration that compute energies. The file that instantiates this template
/// compiles the kernels.
template <typename Config>
Kernel kernel_of() {
  const std::string family = std::string(Config::staging == Staging::bulk ? "bulk-" : "") + Config::Instruction::name;
  return describe_kernel<Config>(family, [](SpinFormulation formulation, EnergyKind kind) {
    return formulation == SpinFormulation::spin_adapted
               ? kernel_of_kind<SpinAdaptedEnergies<1, Config>, SpinAdaptedEnergies<2, Config>,
                                SpinAdaptedQuotients<2, Config>, SpinAdaptedQuotients<3, WithSecondLeft<Config>>>(kind)
               : kernel_of_kind<SpinOrbitalEnergies<1, Config>, SpinOrbitalEnergies<2, Config>,
                                SpinOrbitalQuotients<2, Config>, SpinOrbitalQuotients<3, WithSecondLeft<Config>>>(kind);
  });
}

}
