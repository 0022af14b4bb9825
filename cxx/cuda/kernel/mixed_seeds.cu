#include "cxx/cuda/kernel/seeds_function.cuh"

namespace trifuse::gpu {

template const void* seeds_function<MixedWarpgroup>(SpinFormulation formulation);

}
