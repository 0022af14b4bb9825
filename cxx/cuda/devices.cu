#include "cxx/cuda/devices.hpp"

#include "cxx/cuda/check.hpp"

namespace trifuse {

namespace {

/// Without a driver or a GPU the count itself is refused; that is an answer, not an error.
struct Count {
  int devices = 0;
  cudaError_t status;
  Count() : status(cudaGetDeviceCount(&devices)) {
    if (status == cudaSuccess) return;
    devices = 0;
    static_cast<void>(cudaGetLastError());  // the refusal is dealt with; later checks must not see it again
  }
};

/// The device that was current when this was made is so again when it goes.
class KeepCurrentDevice {
 public:
  KeepCurrentDevice() { TRIFUSE_CUDA(cudaGetDevice(&device_)); }
  ~KeepCurrentDevice() { static_cast<void>(cudaSetDevice(device_)); }
  KeepCurrentDevice(const KeepCurrentDevice&) = delete;
  KeepCurrentDevice& operator=(const KeepCurrentDevice&) = delete;

 private:
  int device_ = 0;
};

}  // namespace

std::vector<DeviceInfo> visible_devices() {
  const Count count;
  if (count.devices == 0) return {};
  std::vector<DeviceInfo> devices;
  const KeepCurrentDevice keep;
  for (int number = 0; number < count.devices; ++number) {
    cudaDeviceProp properties{};
    TRIFUSE_CUDA(cudaGetDeviceProperties(&properties, number));
    TRIFUSE_CUDA(cudaSetDevice(number));
    std::size_t free = 0, total = 0;
    TRIFUSE_CUDA(cudaMemGetInfo(&free, &total));
    devices.push_back({number, properties.name, properties.major, properties.minor, static_cast<std::int64_t>(free),
                       static_cast<std::int64_t>(total)});
  }
  return devices;
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

}  // namespace trifuse
