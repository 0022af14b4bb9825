#pragma once

#include <cuda_runtime_api.h>

#include "cxx/cuda/schedule/array_panels.hpp"

/// Packs panels from dense arrays on the device.
namespace trifuse::gpu {

/// Packs a whole panel. `packing`: result of packing_of(); its strides are not used. `rows`: where the numbers of the
/// panel stand in device memory. `format`, `packed`: see launch_packing(). Throws Error if no kernel reads this
/// format.
void launch_packing_of_arrays(const Packing& packing, const OperandFormat& format, const ArrayRows& rows, void* packed,
                              cudaStream_t stream);

}
