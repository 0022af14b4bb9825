#pragma once

#include <string>
#include <vector>

#include "cxx/cuda/runtime/devices.hpp"

namespace trifuse {

/// Returns one sentence that says how much time mixed precision would take, for GPUs whose rate in double precision is
/// less than a tenth of that in mixed precision. Empty for other GPUs, without GPUs, and if the sample in double
/// precision would take most of the time that mixed precision saves. `devices`: the GPUs of the run. `operations`:
/// floating-point operations of all tasks. `of_sample`: operations of the tasks that mixed precision also computes in
/// double precision.
std::string advise_mixed_precision(const std::vector<DeviceInfo>& devices, double operations, double of_sample);

}
