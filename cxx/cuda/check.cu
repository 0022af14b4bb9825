#include "cxx/cuda/check.hpp"

#include <string>

#include "cxx/base/error.hpp"

namespace trifuse {

void check_cuda(cudaError_t status, const char* call, const char* file, int line) {
  if (status == cudaSuccess) return;
  throw DeviceError(std::string("CUDA refused a call: ") + cudaGetErrorString(status) + " (" +
                    cudaGetErrorName(status) + ") from " + call + " at " + file + ":" + std::to_string(line) + ".");
}

}  // namespace trifuse
