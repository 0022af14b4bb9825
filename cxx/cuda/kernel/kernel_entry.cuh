#pragma once

#include "cxx/cuda/kernel/launch.hpp"
#include "cxx/cuda/kernel/triples_kernel.cuh"

namespace trifuse::gpu {

template <SpinFormulation formulation, typename Config>
constexpr CtaMemory cta_memory() {
  return {Config::dynamic_shared_bytes(formulation),
          static_cast<int>(sizeof(typename Stages<formulation, Config>::Shared)),
          Config::accumulators * Config::warps * 32};
}

/// Describes a configuration. The file that calls this compiles its kernels. `family`, `exact_architecture`: see
/// Kernel.
template <typename Config>
Kernel kernel_entry(const std::string& family, bool exact_architecture = false) {
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
