#pragma once

#include <cuda_runtime_api.h>

/// Checks a call of the CUDA runtime; every call stands inside this macro. If the call fails, throws DeviceError, or
/// DeviceMemoryError if device memory is exhausted. The sentence names the call, its file and line, and CUDA's reason.
#define TRIFUSE_CUDA(call) ::trifuse::check_cuda((call), #call, __FILE__, __LINE__)

namespace trifuse {

/// Throws as TRIFUSE_CUDA, which calls it, unless `status` is cudaSuccess.
void check_cuda(cudaError_t status, const char* call, const char* file, int line);

}
