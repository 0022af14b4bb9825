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

/// Reads bands of rank-4 arrays and keeps the most recently used bands in memory. A band is a box that spans the
/// whole last axis.
///
/// A block needs only a few neighbouring elements of each row. A band consists of few and long runs of a file, and it
/// also holds the blocks that differ in the last tile only. Thread-safe: one thread reads a band, and other threads
/// that need the band wait for it.
class BandCache {
 public:
  /// A band in C order. The buffer may be longer than the band.
  using Band = std::shared_ptr<const Buffer>;

  /// Keeps bands of at most `bytes` bytes in total, but always two bands per OpenMP thread.
  explicit BandCache(std::size_t bytes) : capacity_(bytes) {}

  /// Returns the band of `count` elements from `offset` on along the first three axes. `id` identifies the array; it
  /// must be different for each array. For one `id` and `offset` the caller must always use the same `count`. Throws
  /// InputError if a value is not finite.
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

  /// The memory of bands that are no longer in use, for new bands.
  struct Pool {
    std::mutex mutex;
    BufferPool buffers;
  };

  /// Removes a band. The caller must hold `mutex_`.
  void evict(const Key& key);
  /// Returns a buffer of at least `doubles` elements, from the pool or new.
  std::shared_ptr<Buffer> take_buffer(std::size_t doubles) const;

  const std::size_t capacity_;
  std::shared_ptr<Pool> pool_ = std::make_shared<Pool>();
  std::mutex mutex_;
  LeastRecentlyUsed<Key, Entry, Hash> recent_;
  std::size_t bytes_ = 0;
};

}
