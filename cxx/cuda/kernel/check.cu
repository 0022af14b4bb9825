#include "cxx/cuda/kernel/check.hpp"

#include <string>

#include "cxx/base/error.hpp"

namespace trifuse {

void check_cuda(cudaError_t status, const char* call, const char* file, int line) {
  if (status == cudaSuccess) return;
  const std::string sentence = std::string("CUDA refused a call: ") + cudaGetErrorString(status) + " (" +
                               cudaGetErrorName(status) + ") from " + call + " at " + file + ":" +
                               std::to_string(line) + ".";
  if (status != cudaErrorMemoryAllocation) throw DeviceError(sentence);
  // The caller may go on without the memory. So the error is cleared: the next check after a launch must not see it.
  static_cast<void>(cudaGetLastError());
  throw DeviceMemoryError(sentence);
}

}
