#include "cxx/cuda/kernel/seeds_function.cuh"

namespace trifuse::gpu {

template const void* seeds_function<1, MixedWarpgroup>(SpinFormulation formulation);
template const void* seeds_function<2, MixedWarpgroup>(SpinFormulation formulation);

}
