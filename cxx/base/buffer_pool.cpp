#include "cxx/base/buffer_pool.hpp"

#include <utility>

namespace trifuse {

Buffer BufferPool::take(std::size_t count) {
  auto best = buffers_.end();
  for (auto it = buffers_.begin(); it != buffers_.end(); ++it) {
    if (it->size() < count || it->size() > 2 * count) continue;
    if (best == buffers_.end() || it->size() < best->size()) best = it;
  }
  if (best == buffers_.end()) return {};
  Buffer found = std::move(*best);
  buffers_.erase(best);
  bytes_ -= bytes_of(found);
  return found;
}

void BufferPool::give(Buffer buffer) {
  bytes_ += bytes_of(buffer);
  buffers_.push_back(std::move(buffer));
}

void BufferPool::shrink(std::int64_t bytes) {
  while (bytes_ > bytes && !buffers_.empty()) {
    bytes_ -= bytes_of(buffers_.front());
    buffers_.pop_front();
  }
}

}
