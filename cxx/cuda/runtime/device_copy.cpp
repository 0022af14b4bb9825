#include "cxx/cuda/runtime/device_copy.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>

#include "cxx/base/error.hpp"
#include "cxx/base/threads.hpp"
#include "cxx/cuda/kernel/check.hpp"
#include "cxx/cuda/runtime/devices.hpp"
#include "cxx/cuda/runtime/staged_copy.hpp"

namespace trifuse {
namespace {

/// Makes a GPU the current one as long as the object exists.
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

}

void wait_for_device(int device) {
  const int devices = visible_device_count();
  if (devices == 0) throw UsageError("An array is on a GPU. " + why_no_devices());
  if (device >= devices) {
    throw UsageError(fmt::format("An array is on GPU {}; CUDA sees {}, counted from 0.", device, devices));
  }
  const CurrentDevice current(device);
  TRIFUSE_CUDA(cudaDeviceSynchronize());
}

void copy_from_device(int device, const void* from, std::span<std::byte> to) {
  constexpr int most_threads = 8;
  const CurrentDevice current(device);
  gpu::download(from, to, std::min(available_threads(), most_threads));
}

}
