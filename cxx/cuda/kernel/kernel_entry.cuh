#pragma once

#include "cxx/cuda/kernel/launch.hpp"
#include "cxx/cuda/kernel/triples_kernel.cuh"

namespace trifuse::gpu {

template <SpinFormulation formulation, typename Config>
constexpr BlockMemory block_memory() {
  return {Config::staged_bytes(formulation), static_cast<int>(sizeof(typename Stages<formulation, Config>::Shared)),
          Config::accumulators * Config::warps * 32};
}

/// Describes a configuration, which is compiled where this is used.
template <typename Config>
Kernel kernel_entry(const std::string& family, bool exact_architecture = false) {
  using Precision = typename Config::Precision;
  constexpr int size = sizeof(typename Precision::Operand);
  const std::string sub_box =
      std::to_string(Config::sub_a) + "x" + std::to_string(Config::sub_b) + "x" + std::to_string(Config::sub_c);
  return {family,
          family + "-" + sub_box,
          Config::Instruction::architecture,
          exact_architecture,
          {{Config::sub_a, Config::sub_b, Config::sub_c},
           Config::warps,
           Config::stage_bytes,
           Precision::a_chunk * size,
           Precision::b_chunk * size,
           Config::pair_bytes,
           Config::box_particles},
          Precision::step,
          Config::threads,
          block_memory<SpinFormulation::spin_orbital, Config>(),
          block_memory<SpinFormulation::spin_adapted, Config>(),
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
