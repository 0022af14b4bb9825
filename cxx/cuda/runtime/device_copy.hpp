#pragma once

#include <cstddef>
#include <span>

namespace trifuse {

/// Waits for all work of this process on GPU `device`, as CUDA counts them. The current GPU of the thread is the same
/// afterwards. Throws UsageError if there is no such GPU, and DeviceError if its work has failed.
void wait_for_device(int device);

/// Copies `to.size()` bytes from address `from` on GPU `device` to the host, through pinned memory and on several
/// threads. Work on the GPU that writes these bytes must have ended. Waits for the copy and for no other work. Throws
/// DeviceError if it fails.
void copy_from_device(int device, const void* from, std::span<std::byte> to);

}
