#include "cxx/cuda/runtime/current_device.hpp"

#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include "cxx/cuda/kernel/check.hpp"

namespace trifuse::gpu {

namespace {

/// Returns true if this process has a context on a GPU. The runtime cannot tell, so this asks the driver, which the
/// runtime has loaded. If it does not answer, the result is true.
bool is_in_use(int device) {
  using Ask = int (*)(int device, unsigned* flags, int* active);
  static const auto ask = [] {
    void* const driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    return driver == nullptr ? nullptr : reinterpret_cast<Ask>(dlsym(driver, "cuDevicePrimaryCtxGetState"));
  }();
  unsigned flags = 0;
  int active = 0;
  return ask == nullptr || ask(device, &flags, &active) != 0 || active != 0;
}

}

int current_device() {
  int device = 0;
  TRIFUSE_CUDA(cudaGetDevice(&device));
  return device;
}

CurrentDevice::CurrentDevice(int device) : before_(current_device()), device_(device) {
  if (device != before_) TRIFUSE_CUDA(cudaSetDevice(device));
}

CurrentDevice::~CurrentDevice() {
  if (device_ == before_ || !is_in_use(before_)) return;
  // The next check of a launch must not see an error.
  if (cudaSetDevice(before_) != cudaSuccess) static_cast<void>(cudaGetLastError());
}

}
