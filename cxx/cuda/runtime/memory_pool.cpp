#include "cxx/cuda/runtime/memory_pool.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "cxx/cuda/kernel/check.hpp"
#include "cxx/cuda/runtime/current_device.hpp"
#include "cxx/cuda/runtime/pinned_mapping.hpp"

namespace trifuse::gpu {

namespace {

/// The memory pool of one GPU, and the stream on which it allocates. CUDA orders allocations by streams. All of them
/// are on this stream, and each is complete before it is used, so any stream may use the memory.
class DevicePool {
 public:
  /// Belongs to GPU `device`, which must be the current one. `keeps_all`: see keep_all().
  DevicePool(int device, bool keeps_all) {
    int supported = 0;
    TRIFUSE_CUDA(cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, device));
    if (supported == 0) return;
    cudaMemPoolProps properties{};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location = {cudaMemLocationTypeDevice, device};
    TRIFUSE_CUDA(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    TRIFUSE_CUDA(cudaMemPoolCreate(&pool_, &properties));
    std::size_t free = 0, total = 0;
    TRIFUSE_CUDA(cudaMemGetInfo(&free, &total));
    kept_ = std::min(kept_device_bytes, total / kept_part);
    std::uint64_t kept = limit(keeps_all);
    TRIFUSE_CUDA(cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &kept));
  }

  /// Sets whether the pool keeps all memory that is freed, or only `kept_device_bytes`. In the second case returns
  /// memory above this limit to the driver. Ignores errors.
  void keep_all(bool all) const {
    if (pool_ == nullptr) return;
    std::uint64_t kept = limit(all);
    static_cast<void>(cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &kept));
    if (all) return;
    static_cast<void>(cudaStreamSynchronize(stream_));
    static_cast<void>(cudaMemPoolTrimTo(pool_, kept));
  }

  void* allocate(std::size_t bytes) const {
    void* data = nullptr;
    if (pool_ == nullptr) {
      TRIFUSE_CUDA(cudaMalloc(&data, bytes));
      return data;
    }
    TRIFUSE_CUDA(cudaMallocFromPoolAsync(&data, bytes, pool_, stream_));
    TRIFUSE_CUDA(cudaStreamSynchronize(stream_));
    return data;
  }

  void free(void* data) const { static_cast<void>(pool_ == nullptr ? cudaFree(data) : cudaFreeAsync(data, stream_)); }

  /// Returns the number of bytes that the pool holds and nobody uses.
  std::int64_t idle_bytes() const {
    if (pool_ == nullptr) return 0;
    std::uint64_t held = 0, used = 0;
    TRIFUSE_CUDA(cudaMemPoolGetAttribute(pool_, cudaMemPoolAttrReservedMemCurrent, &held));
    TRIFUSE_CUDA(cudaMemPoolGetAttribute(pool_, cudaMemPoolAttrUsedMemCurrent, &used));
    return static_cast<std::int64_t>(held - used);
  }

  /// Returns the most bytes that were in use at one time.
  std::int64_t peak_bytes() const {
    std::uint64_t peak = 0;
    if (pool_ != nullptr) TRIFUSE_CUDA(cudaMemPoolGetAttribute(pool_, cudaMemPoolAttrUsedMemHigh, &peak));
    return static_cast<std::int64_t>(peak);
  }

  void release_idle() const {
    if (pool_ == nullptr) return;
    TRIFUSE_CUDA(cudaStreamSynchronize(stream_));
    TRIFUSE_CUDA(cudaMemPoolTrimTo(pool_, 0));
  }

 private:
  /// Returns the limit for idle memory, bytes.
  std::uint64_t limit(bool keeps_all) const { return keeps_all ? std::numeric_limits<std::uint64_t>::max() : kept_; }

  cudaMemPool_t pool_ = nullptr;  ///< null: this GPU has no memory pools, and memory comes from cudaMalloc
  cudaStream_t stream_ = nullptr;
  std::uint64_t kept_ = 0;  ///< limit for idle memory if the pool does not keep all, bytes
};

/// Pinned blocks that nobody uses, by size in bytes.
struct PinnedPool {
  std::mutex mutex;
  std::multimap<std::size_t, PinnedBlock> idle;
  std::size_t idle_bytes = 0;
};

void return_pinned(const PinnedBlock& block) {
  if (block.mapped) return unmap_pinned(block.data, block.bytes);
  static_cast<void>(cudaFreeHost(block.data));
}

/// The pools of this process. They are never destroyed, because CUDA may be shut down earlier at the end of a process.
struct Pools {
  std::mutex mutex;
  std::map<int, DevicePool> devices;  ///< key: number of the GPU
  int keep_all = 0;                   ///< number of callers that want all memory of GPUs to be kept
  PinnedPool pinned;
};

Pools& pools() {
  static auto* const all = new Pools;
  return *all;
}

const DevicePool& pool_of(int device) {
  const std::lock_guard lock(pools().mutex);
  return pools().devices.try_emplace(device, device, pools().keep_all > 0).first->second;
}

std::size_t used_devices() {
  const std::lock_guard lock(pools().mutex);
  return pools().devices.size();
}

void release_idle_pinned() {
  std::multimap<std::size_t, PinnedBlock> idle;
  {
    const std::lock_guard lock(pools().pinned.mutex);
    idle = std::exchange(pools().pinned.idle, {});
    pools().pinned.idle_bytes = 0;
  }
  for (const auto& [bytes, block] : idle) return_pinned(block);
}

}

DeviceBlock allocate_device(std::size_t bytes) {
  const int device = current_device();
  return {pool_of(device).allocate(bytes), device};
}

void free_device(const DeviceBlock& block) {
  pool_of(block.device).free(block.data);
}

DeviceBlock allocate_exported(std::size_t bytes) {
  const int device = current_device();
  pool_of(device).release_idle();
  void* data = nullptr;
  TRIFUSE_CUDA(cudaMalloc(&data, bytes));
  return {data, device};
}

void free_exported(const DeviceBlock& block) {
  static_cast<void>(cudaFree(block.data));
}

PinnedBlock allocate_pinned(std::size_t bytes) {
  PinnedPool& pool = pools().pinned;
  {
    const std::lock_guard lock(pool.mutex);
    const auto found = pool.idle.lower_bound(bytes);
    // A block that is much larger than needed is left to a larger array.
    constexpr std::size_t small = std::size_t{1} << 20;
    if (found != pool.idle.end() && found->first <= 2 * bytes + small) {
      const PinnedBlock block = found->second;
      pool.idle.erase(found);
      pool.idle_bytes -= block.bytes;
      return block;
    }
  }
  if (bytes >= pinned_page) {
    const std::size_t whole = (bytes + pinned_page - 1) / pinned_page * pinned_page;
    if (void* const data = map_pinned(whole); data != nullptr) return {data, whole, true};
  }
  PinnedBlock block{nullptr, bytes, false};
  TRIFUSE_CUDA(cudaMallocHost(&block.data, bytes));
  return block;
}

void free_pinned(const PinnedBlock& block) {
  PinnedPool& pool = pools().pinned;
  const std::size_t kept = kept_pinned_bytes * std::max<std::size_t>(1, used_devices());
  {
    const std::lock_guard lock(pool.mutex);
    if (pool.idle_bytes + block.bytes <= kept) {
      pool.idle.emplace(block.bytes, block);
      pool.idle_bytes += block.bytes;
      return;
    }
  }
  return_pinned(block);
}

DeviceMemoryState device_memory_now() {
  std::size_t free = 0, total = 0;
  TRIFUSE_CUDA(cudaMemGetInfo(&free, &total));
  return {static_cast<std::int64_t>(free) + pool_of(current_device()).idle_bytes(), static_cast<std::int64_t>(total)};
}

std::int64_t peak_device_memory() {
  return pool_of(current_device()).peak_bytes();
}

void release_idle_memory() {
  release_idle_pinned();
  int current = 0;
  if (cudaGetDevice(&current) != cudaSuccess) return;
  const std::lock_guard lock(pools().mutex);
  for (const auto& [device, pool] : pools().devices) {
    const CurrentDevice on(device);
    pool.release_idle();
  }
}

void keep_all_device_memory(int change) {
  const std::lock_guard lock(pools().mutex);
  pools().keep_all += change;
  for (const auto& [device, pool] : pools().devices) pool.keep_all(pools().keep_all > 0);
}

}
