#include "cxx/cuda/runtime/device_copy.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include "cxx/base/error.hpp"
#include "cxx/cuda/kernel/check.hpp"
#include "cxx/cuda/runtime/devices.hpp"

namespace trifuse {
namespace {

/// Makes a GPU the current one during its lifetime.
class CurrentDevice {
 public:
  explicit CurrentDevice(int device) {
    TRIFUSE_CUDA(cudaGetDevice(&before_));
    TRIFUSE_CUDA(cudaSetDevice(device));
  }
  ~CurrentDevice() { static_cast<void>(cudaSetDevice(before_)); }
  CurrentDevice(const CurrentDevice&) = delete;
  CurrentDevice& operator=(const CurrentDevice&) = delete;

 private:
  int before_ = 0;
};

}  // namespace

void copy_from_device(int device, const void* from, std::span<std::byte> to) {
  const int devices = visible_device_count();
  if (devices == 0) throw UsageError("An array is on a GPU. " + why_no_devices());
  if (device >= devices) {
    throw UsageError(fmt::format("An array is on GPU {}; CUDA sees {}, counted from 0.", device, devices));
  }
  const CurrentDevice current(device);
  TRIFUSE_CUDA(cudaDeviceSynchronize());  // work of the caller that still writes the array
  TRIFUSE_CUDA(cudaMemcpy(to.data(), from, to.size_bytes(), cudaMemcpyDeviceToHost));
}

}  // namespace trifuse
