#pragma once

#include <thread>

#include "cxx/calculation.hpp"
#include "cxx/parallel/team.hpp"

namespace trifuse::cli {

/// Begins CUDA on the GPUs that this process is likely to compute with, which takes half a second, while it does
/// something else. What fails here fails again, and is told, where the GPUs are used. It ends with this.
class DeviceWarmUp {
 public:
  /// `team`: that this process is one of, or null.
  DeviceWarmUp(const CalculationOptions& options, const Team* team);
  ~DeviceWarmUp();
  DeviceWarmUp(const DeviceWarmUp&) = delete;
  DeviceWarmUp& operator=(const DeviceWarmUp&) = delete;

 private:
  std::thread thread_;
};

}  // namespace trifuse::cli
