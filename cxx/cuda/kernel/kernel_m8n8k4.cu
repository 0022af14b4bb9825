#include "cxx/cuda/kernel/kernel_entry.cuh"

namespace trifuse::gpu {

template Kernel kernel_of<CooperativeM8N8K4>();

}
