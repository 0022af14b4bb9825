#include "cxx/cuda/kernel/seeds.cuh"

#include "cxx/cuda/kernel/kernel_entry.cuh"

namespace trifuse::gpu {

template <typename Config>
const void* seeds_function(SpinFormulation formulation) {
  return formulation == SpinFormulation::spin_adapted ? kernel_function<Seeds<SpinFormulation::spin_adapted, Config>>()
                                                      : kernel_function<Seeds<SpinFormulation::spin_orbital, Config>>();
}

template const void* seeds_function<Bulk<4, 2, 4>>(SpinFormulation formulation);
template const void* seeds_function<Bulk<4, 4, 2>>(SpinFormulation formulation);

}
