#pragma once

#include "cxx/cuda/kernel/launch.hpp"
#include "cxx/cuda/kernel/triples_kernel.cuh"
#include "cxx/cuda/schedule/launch_shapes.hpp"

namespace trifuse::gpu {

template <SpinFormulation formulation, typename Config>
constexpr CtaMemory cta_memory() {
  return {Config::dynamic_shared_bytes(formulation),
          static_cast<int>(sizeof(typename Stages<formulation, Config>::Shared))};
}

/// The file that instantiates this compiles the device functions of the configuration.
template <typename Config>
Kernel kernel_of() {
  constexpr bool bulk = Config::staging == Staging::bulk;
  const std::string family = std::string(bulk ? "bulk-" : "") + Config::Instruction::name;
  const std::string warp_tile = std::to_string(Config::warp_tile_a) + "x" + std::to_string(Config::warp_tile_b) + "x" +
                                std::to_string(Config::warp_tile_c);
  return {family,
          family + "-" + warp_tile,
          Config::Instruction::architecture,
          bulk,
          shape_of<Config>(),
          Config::Precision::k_step,
          Config::threads,
          cta_memory<SpinFormulation::spin_orbital, Config>(),
          cta_memory<SpinFormulation::spin_adapted, Config>(),
          [](SpinFormulation formulation, bool two_sided) {
            if (formulation == SpinFormulation::spin_adapted) {
              return two_sided
                         ? reinterpret_cast<const void*>(&triples_kernel<SpinFormulation::spin_adapted, true, Config>)
                         : reinterpret_cast<const void*>(&triples_kernel<SpinFormulation::spin_adapted, false, Config>);
            }
            return two_sided
                       ? reinterpret_cast<const void*>(&triples_kernel<SpinFormulation::spin_orbital, true, Config>)
                       : reinterpret_cast<const void*>(&triples_kernel<SpinFormulation::spin_orbital, false, Config>);
          }};
}

}  // namespace trifuse::gpu
