#pragma once

#include <cuda_runtime_api.h>

#include "cxx/cuda/schedule/layout.hpp"

namespace trifuse::gpu {

/// Adds the integers of a packed vvoo block to those of the block in the linear layout, on `stream` of the current
/// device. `packing`: of the block, from the linear layout. `packed`, `linear`: first integer of the block. All memory
/// is on the device.
void launch_add_vvoo_sums(const Packing& packing, const unsigned long long* packed, unsigned long long* linear,
                          cudaStream_t stream);

}
