#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>
#include <utility>

#include "cxx/cuda/kernel/check.hpp"

/// Owners of what the CUDA runtime hands out. All belong to the device that is current when they are made.
namespace trifuse::gpu {

namespace detail {
struct FreeDevice {
  void operator()(void* p) const { static_cast<void>(cudaFree(p)); }
};
struct FreePinned {
  void operator()(void* p) const { static_cast<void>(cudaFreeHost(p)); }
};
struct DestroyStream {
  void operator()(cudaStream_t s) const { static_cast<void>(cudaStreamDestroy(s)); }
};
struct DestroyEvent {
  void operator()(cudaEvent_t e) const { static_cast<void>(cudaEventDestroy(e)); }
};
}  // namespace detail

/// Uninitialised memory, grown on demand; growing loses what was in it.
template <typename T, cudaError_t (*allocate)(void**, std::size_t), typename Free>
class GrownArray {
 public:
  GrownArray() = default;
  explicit GrownArray(std::size_t count) { reserve(count); }
  void reserve(std::size_t count) {
    if (count <= size_) return;
    memory_.reset();
    size_ = 0;
    void* p = nullptr;
    TRIFUSE_CUDA(allocate(&p, count * sizeof(T)));
    memory_.reset(p);
    size_ = count;
  }
  T* data() const { return static_cast<T*>(memory_.get()); }
  std::size_t size() const { return size_; }

 private:
  std::unique_ptr<void, Free> memory_;
  std::size_t size_ = 0;
};

/// Memory of the device.
template <typename T>
using DeviceArray = GrownArray<T, cudaMalloc, detail::FreeDevice>;
/// Memory of the host that devices read and write themselves.
template <typename T>
using PinnedArray = GrownArray<T, cudaMallocHost, detail::FreePinned>;

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

/// Seconds between two events that have passed.
inline double seconds_between(const Event& begin, const Event& end) {
  float milliseconds = 0.0F;
  TRIFUSE_CUDA(cudaEventElapsedTime(&milliseconds, begin, end));
  return static_cast<double>(milliseconds) * 1e-3;
}

}  // namespace trifuse::gpu
