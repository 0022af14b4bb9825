#include "cxx/cuda/kernel/kernel_entry.cuh"

namespace trifuse::gpu {

template Kernel kernel_of<Bulk<4, 2, 4>>();

}
