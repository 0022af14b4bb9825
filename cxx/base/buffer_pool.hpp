#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include "cxx/base/buffer.hpp"

namespace trifuse {

/// Buffers that are free and wait for their next use. The operating system clears new memory page by page, which
/// often takes longer than the read that fills the memory. One thread at a time may use a pool.
class BufferPool {
 public:
  /// Size of a buffer in bytes.
  static std::int64_t bytes_of(const Buffer& buffer) {
    return static_cast<std::int64_t>(buffer.size() * sizeof(double));
  }

  /// Removes and returns the smallest buffer of `count` to 2 `count` doubles; an empty buffer if there is none.
  Buffer take(std::size_t count);
  /// Adds a buffer to the pool.
  void give(Buffer buffer);
  /// Frees the oldest buffers until the pool has at most `bytes` bytes.
  void shrink(std::int64_t bytes);
  /// Size of all buffers of the pool.
  std::int64_t bytes() const { return bytes_; }

 private:
  std::deque<Buffer> buffers_;
  std::int64_t bytes_ = 0;
};

}
