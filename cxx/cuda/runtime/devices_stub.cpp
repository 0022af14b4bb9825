#include "cxx/base/error.hpp"
#include "cxx/cuda/runtime/devices.hpp"

/// Replaces devices.cu in a build without CUDA, so that callers need no special case.
namespace trifuse {

std::vector<DeviceInfo> visible_devices() {
  return {};
}

int visible_device_count() {
  return 0;
}

std::int64_t free_device_memory(int) {
  throw UsageError(why_no_devices());
}

void release_kept_device_memory() {}

DeviceMemoryKeeper::DeviceMemoryKeeper() = default;

DeviceMemoryKeeper::~DeviceMemoryKeeper() = default;

std::string why_no_devices() {
  return "This Trifuse was built without CUDA.";
}

}
