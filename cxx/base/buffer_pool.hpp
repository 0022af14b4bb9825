#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include "cxx/base/buffer.hpp"

namespace trifuse {

/// Free buffers that wait for their next use. They save time: the operating system clears new memory page by page,
/// which often takes longer than the read that fills it. One thread at a time may use a pool.
class BufferPool {
 public:
  /// Returns the size of a buffer in bytes.
  static std::int64_t bytes_of(const Buffer& buffer) {
    return static_cast<std::int64_t>(buffer.size() * sizeof(double));
  }

  /// Removes and returns the smallest buffer of `count` to 2 `count` doubles; an empty buffer if there is none.
  Buffer take(std::size_t count);
  /// Adds a buffer to the pool.
  void give(Buffer buffer);
  /// Frees the oldest buffers until the pool has at most `bytes` bytes.
  void shrink(std::int64_t bytes);
  /// Returns the size of all buffers of the pool.
  std::int64_t bytes() const { return bytes_; }

 private:
  std::deque<Buffer> buffers_;
  std::int64_t bytes_ = 0;
};

}
