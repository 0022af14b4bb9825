#include "cxx/cuda/kernel/seeds_function.cuh"

namespace trifuse::gpu {

template const void* seeds_function<1, Bulk<4, 2, 4>>(SpinFormulation formulation);
template const void* seeds_function<1, Bulk<4, 4, 2>>(SpinFormulation formulation);
template const void* seeds_function<2, Bulk<4, 2, 4>>(SpinFormulation formulation);
template const void* seeds_function<2, Bulk<4, 4, 2>>(SpinFormulation formulation);

}
