#pragma once

#include <cuda_runtime_api.h>

/// Every call of the CUDA runtime stands inside this: anything but success becomes a DeviceError that names the call,
/// its place and CUDA's reason; a DeviceMemoryError where memory is all that is wanting.
#define TRIFUSE_CUDA(call) ::trifuse::check_cuda((call), #call, __FILE__, __LINE__)

namespace trifuse {

void check_cuda(cudaError_t status, const char* call, const char* file, int line);

}  // namespace trifuse
