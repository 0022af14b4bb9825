#include "cxx/base/error.hpp"
#include "cxx/cuda/runtime/devices.hpp"

/// Takes the place of devices.cu in a build without CUDA, so that callers need no case of their own.
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

std::string why_no_devices() {
  return "This Trifuse was built without CUDA.";
}

}  // namespace trifuse
