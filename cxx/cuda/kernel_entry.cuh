#pragma once

#include "cxx/cuda/launch.hpp"
#include "cxx/cuda/triples_kernel.cuh"

namespace trifuse::gpu {

/// Describes a configuration, which is compiled where this is used.
template <typename Config>
Kernel kernel_entry(const char* name, bool exact_architecture = false) {
  using Precision = typename Config::Precision;
  constexpr int size = sizeof(typename Precision::Operand);
  return {name,
          Config::Instruction::architecture,
          exact_architecture,
          {{Config::sub_a, Config::sub_b, Config::sub_c},
           Config::warps,
           Config::stage_bytes,
           Precision::a_chunk * size,
           Precision::b_chunk * size,
           Config::pair_bytes},
          Config::accumulators,
          Precision::step,
          Config::threads,
          Config::shared_bytes,
          static_cast<int>(sizeof(typename Stages<Config>::Shared)),
          [](Form form, bool two_sided) {
            if (form == Form::spin_adapted) {
              return two_sided ? reinterpret_cast<const void*>(&triples_kernel<Form::spin_adapted, true, Config>)
                               : reinterpret_cast<const void*>(&triples_kernel<Form::spin_adapted, false, Config>);
            }
            return two_sided ? reinterpret_cast<const void*>(&triples_kernel<Form::spin_orbital, true, Config>)
                             : reinterpret_cast<const void*>(&triples_kernel<Form::spin_orbital, false, Config>);
          }};
}

}  // namespace trifuse::gpu
