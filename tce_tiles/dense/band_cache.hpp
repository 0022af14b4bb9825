#pragma once

#include <array>
#include <cstdint>
#include <future>
#include <memory>
#include <mutex>
#include <string>

#include "cxx/base/buffer.hpp"
#include "cxx/base/buffer_pool.hpp"
#include "cxx/base/least_recently_used.hpp"
#include "tce_tiles/dense/dense_arrays.hpp"

namespace trifuse {

/// Reads strips of rank-4 arrays and keeps the most recently used strips in memory. A strip is a box that spans the
/// whole last axis.
///
/// A block needs only a few neighbouring elements of each row. A strip consists of few and long pieces of a file, and
/// it also contains the blocks that differ in the last tile only. Thread-safe: one thread reads a strip, and other
/// threads that need it wait.
class BandCache {
 public:
  /// A strip in C order. The buffer may be longer than the strip.
  using Band = std::shared_ptr<const Buffer>;

  /// Keeps strips of at most `bytes` bytes in total, but always two strips per OpenMP thread.
  explicit BandCache(std::size_t bytes) : capacity_(bytes) {}

  /// Returns the strip of `count` elements from `offset` on along the first three axes. `id`: a number that no other
  /// array has. Calls with the same `id` and `offset` must have the same `count`. Throws InputError if a value is not
  /// finite.
  Band band(int id, const DenseArray& array, const std::array<std::int64_t, 3>& offset,
            const std::array<std::int64_t, 3>& count);

 private:
  using Key = std::array<std::int64_t, 4>;
  struct Hash {
    std::size_t operator()(const Key& key) const;
  };
  struct Entry {
    std::size_t bytes = 0;
    std::shared_future<Band> band;
  };

  /// The memory of strips that are no longer in use. New strips take it.
  struct Pool {
    std::mutex mutex;
    BufferPool buffers;
  };

  /// Removes a strip. The caller must hold `mutex_`.
  void evict(const Key& key);
  /// Returns a buffer of at least `doubles` elements, from the pool if it has one.
  std::shared_ptr<Buffer> take_buffer(std::size_t doubles) const;

  const std::size_t capacity_;
  std::shared_ptr<Pool> pool_ = std::make_shared<Pool>();
  std::mutex mutex_;
  LeastRecentlyUsed<Key, Entry, Hash> recent_;
  std::size_t bytes_ = 0;
};

}
