#pragma once

#include <thread>

#include "cxx/parallel/team.hpp"
#include "drivers/source_options.hpp"
#include "tce_tiles/tile_source.hpp"

namespace trifuse::cli {

/// Begins CUDA, on the GPUs that this process is likely to compute with if it is to compute with any, while the process
/// does something else: it takes half a second. What fails here fails again, and is told, where the GPUs are used. It
/// ends with this.
class DeviceWarmUp {
 public:
  /// `flags` and `right` outlive it. `team`: that this process is one of, or null.
  DeviceWarmUp(const CalculationFlags& flags, const TileSource& right, const Team* team);
  ~DeviceWarmUp();
  DeviceWarmUp(const DeviceWarmUp&) = delete;
  DeviceWarmUp& operator=(const DeviceWarmUp&) = delete;

 private:
  std::thread thread_;
};

}  // namespace trifuse::cli
