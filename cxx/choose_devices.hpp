#pragma once

#include <vector>

#include "cxx/cuda/devices.hpp"

namespace trifuse {

/// Whether the kernels run on this GPU: compute capability 7.5 or more.
bool new_enough(const DeviceInfo& device);

/// The GPUs of `visible` that have these numbers, in this order; without numbers all that are new enough. Throws
/// UsageError for a number that is not there or there twice, for a GPU that is too old, and where there is no GPU.
std::vector<DeviceInfo> choose_devices(const std::vector<DeviceInfo>& visible, const std::vector<int>& numbers);

}  // namespace trifuse
