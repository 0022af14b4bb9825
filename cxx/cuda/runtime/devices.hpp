#pragma once

#include <cstdint>
#include <string>
#include <vector>

#pragma GCC visibility push(default)

namespace trifuse {

/// A GPU that this process may use. CUDA_VISIBLE_DEVICES selects these GPUs.
struct DeviceInfo {
  int number;                 ///< number of the GPU, as CUDA counts, from 0
  std::string name;           ///< e.g. "NVIDIA H200"
  int major, minor;           ///< compute capability, e.g. 9 and 0 for Hopper
  std::int64_t total_memory;  ///< bytes
  std::string uuid;           ///< "GPU-" and 32 hexadecimal digits in five groups, as nvidia-smi -L writes it
};

/// Lists the GPUs that this process may use. The list is empty if there is none or Trifuse was built without CUDA.
/// Makes no CUDA context, so it takes no memory of the GPUs. Throws DeviceError if a GPU does not answer.
std::vector<DeviceInfo> visible_devices();

/// Returns the number of GPUs in visible_devices().
int visible_device_count();

/// Returns the number of bytes that are free now on GPU `number`. Makes that GPU the current one and makes a CUDA
/// context there, so call this only for a GPU that will be used. Throws DeviceError; without CUDA, UsageError.
std::int64_t free_device_memory(int number);

/// Returns the memory of GPUs and the pinned memory that this process keeps for its next run (memory_pool.hpp) to the
/// driver. Does not disturb runs that compute. Throws DeviceError.
void release_kept_device_memory();

/// While such an object exists, the process keeps all memory of GPUs that its runs free, and not only a part of it. A
/// later run of the process can use it at once. The driver needs 2 ms for each GiB to take memory back, and again to
/// provide it.
class DeviceMemoryKeeper {
 public:
  DeviceMemoryKeeper();
  ~DeviceMemoryKeeper();
  DeviceMemoryKeeper(const DeviceMemoryKeeper&) = delete;
  DeviceMemoryKeeper& operator=(const DeviceMemoryKeeper&) = delete;
};

/// Returns a sentence that says why visible_devices() is empty; an empty text if it is not.
std::string why_no_devices();

}

#pragma GCC visibility pop
