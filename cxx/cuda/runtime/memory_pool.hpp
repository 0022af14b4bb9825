#pragma once

#include <cstddef>
#include <cstdint>

/// Memory of GPUs and pinned memory for `DeviceArray` and `PinnedArray`. Memory that a calculation has freed stays with
/// the process for a while, because the driver needs milliseconds to provide new memory. That is longer than the tasks
/// of a small molecule take.
namespace trifuse::gpu {

/// Limits for the idle memory that the process keeps, in bytes. On each GPU it keeps at most `kept_device_bytes`, and
/// at most the memory of the GPU divided by `kept_part`. It keeps at most `kept_pinned_bytes` of pinned memory for each
/// GPU that it uses.
inline constexpr std::size_t kept_device_bytes = std::size_t{2} << 30, kept_part = 16;
inline constexpr std::size_t kept_pinned_bytes = std::size_t{512} << 20;

/// A block of device memory.
struct DeviceBlock {
  void* data = nullptr;
  int device = 0;  ///< number of the GPU to which the block belongs
};
/// Allocates device memory on the current GPU. Throws DeviceMemoryError if there is not enough.
DeviceBlock allocate_device(std::size_t bytes);
/// Frees a block. No work that uses it may be pending. Ignores errors: a GPU that has failed frees its memory itself.
void free_device(const DeviceBlock& block);

/// Allocates device memory on the current GPU that other processes and other GPUs may open. It does not stay with the
/// process when it is freed. Throws DeviceMemoryError if there is not enough.
DeviceBlock allocate_exported(std::size_t bytes);
/// Frees a block of allocate_exported(). No work that uses it may be pending. Ignores errors.
void free_exported(const DeviceBlock& block);

/// A block of pinned memory, which all GPUs read and write directly.
struct PinnedBlock {
  void* data = nullptr;
  std::size_t bytes = 0;  ///< size of the block
  bool mapped = false;    ///< true: from map_pinned(); false: from CUDA
};
/// Allocates at least `bytes` of pinned memory. Throws DeviceMemoryError if there is not enough.
PinnedBlock allocate_pinned(std::size_t bytes);
/// Frees a block. No work that uses it may be pending.
void free_pinned(const PinnedBlock& block);

/// Memory of a GPU, in bytes.
struct DeviceMemoryState {
  std::int64_t free;   ///< memory that calculations of this process can allocate: free and idle memory
  std::int64_t total;  ///< memory of the GPU
};
/// Returns the memory of the current GPU now.
DeviceMemoryState device_memory_now();
/// Returns the most memory of the current GPU that calculations of this process have used at one time, in bytes,
/// without exported memory and the memory of the driver. Returns 0 if the GPU has no memory pools.
std::int64_t peak_device_memory();

/// Returns all idle memory to the driver.
void release_idle_memory();

/// Adds `change`, 1 or -1, to the number of callers that want the process to keep all memory of GPUs that it frees.
/// While this number is not 0, `kept_device_bytes` does not apply. When it becomes 0, returns idle memory above this
/// limit to the driver. Ignores errors of GPUs that have failed.
void keep_all_device_memory(int change);

}
