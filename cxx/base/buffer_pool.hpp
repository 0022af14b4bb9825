#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include "cxx/base/buffer.hpp"

namespace trifuse {

/// Buffers that were in use, for those who need one next: new memory has to be cleared by the kernel, page by page,
/// which often takes longer than to read what will stand there. For one thread at a time.
class BufferPool {
 public:
  static std::int64_t bytes_of(const Buffer& buffer) {
    return static_cast<std::int64_t>(buffer.size() * sizeof(double));
  }
  /// A new one for `count` doubles, in large pages where the system has them.
  static Buffer fresh(std::size_t count);

  /// The smallest that has `count` doubles and no more than twice as many, or an empty one.
  Buffer take(std::size_t count);
  void give(Buffer buffer);
  /// Frees those that were given first until they take no more than this.
  void shrink(std::int64_t bytes);
  std::int64_t bytes() const { return bytes_; }

 private:
  std::deque<Buffer> buffers_;
  std::int64_t bytes_ = 0;
};

}  // namespace trifuse
