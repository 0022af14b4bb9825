#include "cxx/cuda/kernel/seeds.cuh"

#include "cxx/cuda/kernel/kernel_entry.cuh"

namespace trifuse::gpu {

template <int sides, typename Config>
const void* seeds_function(SpinFormulation formulation) {
  return formulation == SpinFormulation::spin_adapted
             ? kernel_function<Seeds<SpinFormulation::spin_adapted, sides, Config>>()
             : kernel_function<Seeds<SpinFormulation::spin_orbital, sides, Config>>();
}

template const void* seeds_function<1, Bulk<4, 2, 4>>(SpinFormulation formulation);
template const void* seeds_function<1, Bulk<4, 4, 2>>(SpinFormulation formulation);
template const void* seeds_function<2, Bulk<4, 2, 4>>(SpinFormulation formulation);
template const void* seeds_function<2, Bulk<4, 4, 2>>(SpinFormulation formulation);

}
