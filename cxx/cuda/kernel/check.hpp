#pragma once

#include <cuda_runtime_api.h>

/// Checks a call of the CUDA runtime; every call stands inside this macro. A failure becomes a DeviceError, or a
/// DeviceMemoryError if device memory is exhausted. The message names the call, its file and line, and CUDA's reason.
#define TRIFUSE_CUDA(call) ::trifuse::check_cuda((call), #call, __FILE__, __LINE__)

namespace trifuse {

/// For TRIFUSE_CUDA. Does nothing if `status` is cudaSuccess.
void check_cuda(cudaError_t status, const char* call, const char* file, int line);

}
