#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "cxx/cuda/kernel/check.hpp"
#include "cxx/cuda/runtime/memory_pool.hpp"

/// Owners of memory, streams and events of the CUDA runtime. Each belongs to the device that is current when it is
/// made.
namespace trifuse::gpu {

namespace detail {
struct DestroyStream {
  // The owner may free memory after this call. A memory pool does not wait for work that still uses the memory.
  void operator()(cudaStream_t s) const {
    static_cast<void>(cudaStreamSynchronize(s));
    static_cast<void>(cudaStreamDestroy(s));
  }
};
struct DestroyEvent {
  void operator()(cudaEvent_t e) const { static_cast<void>(cudaEventDestroy(e)); }
};
}

/// Uninitialised memory that grows on demand. Growing loses its contents. No work that uses the memory may be pending
/// when it grows or is destroyed. `Block`, `allocate`, `release`: a kind of memory, see memory_pool.hpp.
template <typename T, typename Block, Block (*allocate)(std::size_t), void (*release)(const Block&)>
class GrowingArray {
 public:
  GrowingArray() = default;
  explicit GrowingArray(std::size_t count) { reserve(count); }
  /// Makes room for at least `count` elements. Throws DeviceMemoryError if there is not enough memory.
  void reserve(std::size_t count) {
    if (count <= size_) return;
    memory_.reset();
    size_ = 0;
    const Block block = allocate(count * sizeof(T));
    memory_ = Memory(block.data, Release{block});
    size_ = count;
  }
  T* data() const { return static_cast<T*>(memory_.get()); }
  std::size_t size() const { return size_; }

 private:
  struct Release {
    Block block;
    void operator()(void*) const { release(block); }
  };
  using Memory = std::unique_ptr<void, Release>;
  Memory memory_;
  std::size_t size_ = 0;
};

/// Device memory.
template <typename T>
using DeviceArray = GrowingArray<T, DeviceBlock, allocate_device, free_device>;
/// Copies memory of the host to the device, and waits until it is there. cudaMemcpy() alone may return while the last
/// part of memory that is not pinned is still on its way, and the streams of workers do not wait for it.
inline void copy_to_device(void* to, const void* from, std::size_t bytes) {
  TRIFUSE_CUDA(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice));
  TRIFUSE_CUDA(cudaStreamSynchronize(cudaStreamLegacy));
}
/// Copies `from` to device memory and returns the complete copy.
template <typename T>
DeviceArray<T> to_device(const std::vector<T>& from) {
  DeviceArray<T> array(from.size());
  copy_to_device(array.data(), from.data(), from.size() * sizeof(T));
  return array;
}
/// Fills an array with zeros, and waits until this is done: the streams of workers do not wait for cudaMemset().
template <typename T>
void fill_with_zeros(DeviceArray<T>& array) {
  TRIFUSE_CUDA(cudaMemset(array.data(), 0, array.size() * sizeof(T)));
  TRIFUSE_CUDA(cudaStreamSynchronize(cudaStreamLegacy));
}
/// Device memory that other processes and other GPUs may open.
template <typename T>
using ExportedArray = GrowingArray<T, DeviceBlock, allocate_exported, free_exported>;
/// Pinned host memory, which devices read and write directly.
template <typename T>
using PinnedArray = GrowingArray<T, PinnedBlock, allocate_pinned, free_pinned>;

class Stream {
 public:
  Stream() {
    cudaStream_t s = nullptr;
    TRIFUSE_CUDA(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    stream_.reset(s);
  }
  operator cudaStream_t() const { return stream_.get(); }

 private:
  std::unique_ptr<CUstream_st, detail::DestroyStream> stream_;
};

class Event {
 public:
  explicit Event(unsigned flags = cudaEventDefault) {
    cudaEvent_t e = nullptr;
    TRIFUSE_CUDA(cudaEventCreateWithFlags(&e, flags));
    event_.reset(e);
  }
  operator cudaEvent_t() const { return event_.get(); }

 private:
  std::unique_ptr<CUevent_st, detail::DestroyEvent> event_;
};

/// Returns the seconds between two events. Both must have passed.
inline double seconds_between(const Event& begin, const Event& end) {
  float milliseconds = 0.0F;
  TRIFUSE_CUDA(cudaEventElapsedTime(&milliseconds, begin, end));
  return static_cast<double>(milliseconds) * 1e-3;
}

/// Copies numbers of the host to an array, which gets room for them.
template <typename T>
void upload(DeviceArray<T>& to, std::span<const T> from) {
  to.reserve(std::max<std::size_t>(from.size(), 1));
  if (from.empty()) return;
  copy_to_device(to.data(), from.data(), from.size_bytes());
}

}
