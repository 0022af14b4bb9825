#include "cxx/cuda/runtime/current_device.hpp"

#include <cuda_runtime_api.h>

#include "cxx/cuda/kernel/check.hpp"

namespace trifuse::gpu {

namespace {

/// Returns true if this process has a context on a GPU. The runtime cannot tell, so this asks the driver. If it does
/// not answer, the result is true.
bool is_in_use(int device) {
  using Ask = int (*)(int device, unsigned* flags, int* active);
  static const auto ask = [] {
    void* function = nullptr;
    cudaDriverEntryPointQueryResult found{};
    constexpr const char* name = "cuDevicePrimaryCtxGetState";
#if CUDART_VERSION >= 12050
    constexpr unsigned version = 7000;
    const cudaError_t code = cudaGetDriverEntryPointByVersion(name, &function, version, cudaEnableDefault, &found);
#else
    const cudaError_t code = cudaGetDriverEntryPoint(name, &function, cudaEnableDefault, &found);
#endif
    return code == cudaSuccess ? reinterpret_cast<Ask>(function) : nullptr;
  }();
  unsigned flags = 0;
  int active = 0;
  return ask == nullptr || ask(device, &flags, &active) != 0 || active != 0;
}

}

CurrentDevice::CurrentDevice(int device) : device_(device) {
  TRIFUSE_CUDA(cudaGetDevice(&before_));
  if (device != before_) TRIFUSE_CUDA(cudaSetDevice(device));
}

CurrentDevice::~CurrentDevice() {
  if (device_ != before_ && is_in_use(before_)) static_cast<void>(cudaSetDevice(before_));
}

}
