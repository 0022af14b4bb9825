#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "cxx/cuda/runtime/device_memory.hpp"

namespace trifuse::gpu {

/// Sends several arrays to the device in one copy, which passes through pinned memory. Belongs to the current device.
class ArraysInOne {
 public:
  /// Adds an array. send() makes `pointer` point to its copy on the device; both must stay valid until then.
  template <typename T>
  void add(const std::vector<T>& array, const T*& pointer) {
    parts_.push_back({std::as_bytes(std::span(array)),
                      [&pointer](const std::byte* copy) { pointer = reinterpret_cast<const T*>(copy); }});
  }
  /// Puts the copy of the arrays on `stream`. They are valid on the device until the next call, before which the stream
  /// must have executed all work of this one.
  void send(cudaStream_t stream);

 private:
  struct Part {
    std::span<const std::byte> array;
    std::function<void(const std::byte* copy)> set_pointer;
  };
  std::vector<Part> parts_;
  PinnedArray<std::byte> host_;
  DeviceArray<std::byte> device_;
};

}
