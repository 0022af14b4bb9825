#pragma once

#include "cxx/cuda/kernel/kernel_entry.cuh"
#include "cxx/cuda/kernel/seeds.cuh"

namespace trifuse::gpu {

template <int sides, typename Config>
const void* seeds_function(SpinFormulation formulation) {
  return formulation == SpinFormulation::spin_adapted
             ? kernel_function<Seeds<SpinFormulation::spin_adapted, sides, Config>>()
             : kernel_function<Seeds<SpinFormulation::spin_orbital, sides, Config>>();
}

}
