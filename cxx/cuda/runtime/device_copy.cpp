#include "cxx/cuda/runtime/device_copy.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cxx/base/error.hpp"
#include "cxx/base/threads.hpp"
#include "cxx/cuda/runtime/current_device.hpp"
#include "cxx/cuda/runtime/device_memory.hpp"
#include "cxx/cuda/runtime/devices.hpp"
#include "cxx/cuda/runtime/staged_copy.hpp"

namespace trifuse {

void wait_for_device(int device) {
  const int devices = visible_device_count();
  if (devices == 0) throw UsageError("An array is on a GPU. " + why_no_devices());
  if (device >= devices) {
    throw UsageError(fmt::format("An array is on GPU {}; CUDA sees {}, counted from 0.", device, devices));
  }
  const gpu::CurrentDevice current(device);
  TRIFUSE_CUDA(cudaDeviceSynchronize());
}

void copy_from_device(int device, const void* from, std::span<std::byte> to) {
  constexpr int most_threads = 8;
  const gpu::CurrentDevice current(device);
  gpu::download(from, to, std::min(available_threads(), most_threads));
}

}
