#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "cxx/cuda/kernel/launch.hpp"
#include "cxx/cuda/runtime/device_memory.hpp"
#include "cxx/cuda/runtime/panel_cache.hpp"

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

/// All kernels that a device can run, best first.
std::vector<const Kernel*> kernels_for(const cudaDeviceProp& device);

/// The kernel of this name or, without one, all those of the best family that the device can run. Throws UsageError.
std::vector<const Kernel*> choose_kernels(const std::string& wanted, const cudaDeviceProp& device);

std::vector<Shape> shapes_of(const std::vector<const Kernel*>& kernels);

/// What the kernel that puts most aside needs for a launch in this form, doubles.
std::int64_t scratch_doubles(const std::vector<const Kernel*>& kernels, SpinFormulation formulation, int targets,
                             const cudaDeviceProp& device);

/// Throws DeviceError where a device's energy of a task of the self-test is not that of the CPU, `scale` being the size
/// of what it is a sum of.
void check_self_test(int number, double found, double expected, double scale);

/// FP64 operations per second that the matrix units, or else the ordinary ones, reach at the highest clock.
double peak_rate(int number, const cudaDeviceProp& device);

}  // namespace trifuse::gpu
