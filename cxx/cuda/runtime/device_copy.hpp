#pragma once

#include <cstddef>
#include <span>

namespace trifuse {

/// Copies `to.size()` bytes from address `from` on GPU `device`, as CUDA counts them, to the host. Waits for the copy.
/// The current GPU of the thread is the same afterwards. Throws UsageError if there is no such GPU, and DeviceError if
/// the copy fails.
void copy_from_device(int device, const void* from, std::span<std::byte> to);

}  // namespace trifuse
