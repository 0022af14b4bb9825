#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace trifuse {

/// A GPU that this process may use (CUDA_VISIBLE_DEVICES decides).
struct DeviceInfo {
  int number;                ///< as CUDA counts, from 0
  std::string name;          ///< e.g. "NVIDIA H200"
  int major, minor;          ///< compute capability, 9 and 0 for Hopper
  std::int64_t free_memory;  ///< bytes, at the moment of asking
  std::int64_t total_memory;
};

/// All GPUs, none where there is none or Trifuse was built without CUDA. Throws SystemError when a GPU does not answer
/// as it should.
std::vector<DeviceInfo> visible_devices();

/// One sentence that says why `visible_devices()` is empty; empty when it is not.
std::string why_no_devices();

}  // namespace trifuse
