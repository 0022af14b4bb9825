#include "cxx/cuda/runtime/devices.hpp"

#include "cxx/cuda/kernel/check.hpp"
#include "cxx/cuda/runtime/cuda_device.hpp"
#include "cxx/cuda/runtime/current_device.hpp"
#include "cxx/cuda/runtime/memory_pool.hpp"

namespace trifuse {

namespace {

/// The number of GPUs. Without a driver or a GPU, CUDA returns an error code; this means that there are none.
struct Count {
  int devices = 0;
  cudaError_t status;
  Count() : status(cudaGetDeviceCount(&devices)) {
    if (status == cudaSuccess) return;
    devices = 0;
    static_cast<void>(cudaGetLastError());  // later checks must not see this error again
  }
};

/// Returns the UUID as nvidia-smi -L writes it.
std::string text_of(const cudaUUID_t& uuid) {
  constexpr const char* digits = "0123456789abcdef";
  std::string text = "GPU";
  for (std::size_t n = 0; n < sizeof uuid.bytes; ++n) {
    if (n == 0 || n == 4 || n == 6 || n == 8 || n == 10) text += '-';
    const auto byte = static_cast<unsigned char>(uuid.bytes[n]);
    text += {digits[byte >> 4], digits[byte & 15]};
  }
  return text;
}

}

std::vector<DeviceInfo> visible_devices() {
  std::vector<DeviceInfo> devices;
  const int count = visible_device_count();
  for (int number = 0; number < count; ++number) {
    const cudaDeviceProp& properties = gpu::device_properties(number);
    devices.push_back({number, properties.name, properties.major, properties.minor,
                       static_cast<std::int64_t>(properties.totalGlobalMem), text_of(properties.uuid)});
  }
  return devices;
}

int visible_device_count() {
  return Count().devices;
}

std::int64_t free_device_memory(int number) {
  const gpu::CurrentDevice current(number);
  return gpu::device_memory_now().free;
}

void release_kept_device_memory() {
  gpu::release_idle_memory();
}

DeviceMemoryKeeper::DeviceMemoryKeeper() {
  gpu::keep_all_device_memory(1);
}

DeviceMemoryKeeper::~DeviceMemoryKeeper() {
  gpu::keep_all_device_memory(-1);
}

std::string why_no_devices() {
  const Count count;
  if (count.devices > 0) return {};
  if (count.status == cudaSuccess || count.status == cudaErrorNoDevice) return "CUDA sees no GPU on this machine.";
  if (count.status == cudaErrorInsufficientDriver) {
    int driver = 0, runtime = 0;
    TRIFUSE_CUDA(cudaDriverGetVersion(&driver));
    TRIFUSE_CUDA(cudaRuntimeGetVersion(&runtime));
    const auto text = [](int version) {
      return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
    };
    if (driver == 0) return "This machine has no NVIDIA driver.";
    return "The NVIDIA driver is too old: it serves CUDA " + text(driver) + ", and this Trifuse was built with CUDA " +
           text(runtime) + ".";
  }
  return std::string("CUDA cannot use the GPUs of this machine: ") + cudaGetErrorString(count.status) + ".";
}

}
