#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace trifuse {

/// A GPU that this process may use (CUDA_VISIBLE_DEVICES decides).
struct DeviceInfo {
  int number;                 ///< as CUDA counts, from 0
  std::string name;           ///< e.g. "NVIDIA H200"
  int major, minor;           ///< compute capability, 9 and 0 for Hopper
  std::int64_t total_memory;  ///< bytes
  std::string uuid;           ///< "GPU-" and 32 hexadecimal digits in five groups, as nvidia-smi -L writes it
};

/// All GPUs, none where there is none or Trifuse was built without CUDA. Asks without taking any of their memory: no
/// context is made. Throws SystemError when a GPU does not answer as it should.
std::vector<DeviceInfo> visible_devices();

/// How many there are.
int visible_device_count();

/// Bytes free on a GPU at this moment. Makes it the current one and makes a context there: for the GPU that is used.
std::int64_t free_device_memory(int number);

/// One sentence that says why `visible_devices()` is empty; empty when it is not.
std::string why_no_devices();

}  // namespace trifuse
