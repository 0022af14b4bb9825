#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "cxx/cuda/device_memory.hpp"
#include "cxx/cuda/launch.hpp"
#include "cxx/cuda/panel_cache.hpp"

namespace trifuse::gpu {

/// How long a device had a kernel to run. Kernels of several workers wait for each other, so the time is that of the
/// union of their spans.
class BusyTime {
 public:
  /// Begins on the current device.
  BusyTime();
  /// Both events have passed.
  void add(const Event& begin, const Event& end);
  double seconds() const;

 private:
  Event origin_;
  mutable std::mutex mutex_;
  std::vector<std::pair<double, double>> spans_;
};

/// One GPU: what all its workers share.
struct Device {
  int number;
  cudaDeviceProp properties;
  std::vector<const Kernel*> kernels;  ///< of which the best for its extents is chosen for each task
  std::int64_t budget;
  DeviceArray<double> eps, omega2;
  DeviceArray<double> lone[2];
  DeviceArray<double> zeros;  ///< stands for pair blocks that vanish
  std::unique_ptr<PanelCache> panels;
  std::unique_ptr<BusyTime> busy;
};

/// The kernel of this name or, without one, all those of the best family that the device can run. Throws UsageError.
std::vector<const Kernel*> choose_kernels(const std::string& wanted, const cudaDeviceProp& device);

/// FP64 operations per second that the matrix units, or else the ordinary ones, reach at the highest clock.
double peak_rate(int number, const cudaDeviceProp& device);

}  // namespace trifuse::gpu
