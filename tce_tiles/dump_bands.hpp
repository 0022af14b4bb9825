#pragma once

#include <array>
#include <cstdint>
#include <future>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "cxx/base/buffer.hpp"
#include "cxx/base/spare_buffers.hpp"
#include "tce_tiles/hdf5_file.hpp"

namespace trifuse {

/// Reads a rank-4 dataset in bands, boxes that span the whole last axis, and keeps the last ones in memory.
///
/// A block needs only a few neighbouring elements of each row. A band turns these into few and long runs of the file,
/// and serves the other blocks that differ in the last tile. Safe to use from several threads: each band is read by one
/// of them, and those that want it meanwhile wait.
class BandCache {
 public:
  /// Perhaps longer than asked for.
  using Band = std::shared_ptr<const Buffer>;

  /// Two bands for each thread of OpenMP are kept even where they take more.
  explicit BandCache(std::size_t bytes) : capacity_(bytes) {}

  /// The band of `count` elements from `offset` on along the first three axes. `id` tells datasets apart. Throws
  /// InputError when a value is not finite.
  Band band(int id, const Hdf5Dataset& dataset, const std::string& path, const std::array<std::int64_t, 3>& offset,
            const std::array<std::int64_t, 3>& count);

 private:
  using Key = std::array<std::int64_t, 4>;
  struct Hash {
    std::size_t operator()(const Key& key) const;
  };
  struct Entry {
    Key key;
    std::size_t bytes;
    std::shared_future<Band> band;
  };
  using Entries = std::list<Entry>;

  /// Memory of bands that nobody has any more.
  struct Pool {
    std::mutex mutex;
    SpareBuffers buffers;
  };

  void evict(Entries::iterator entry);  ///< with the lock held
  std::shared_ptr<Buffer> take_buffer(std::size_t doubles) const;

  const std::size_t capacity_;
  std::shared_ptr<Pool> pool_ = std::make_shared<Pool>();
  std::mutex mutex_;
  Entries recent_;  ///< last used first
  std::unordered_map<Key, Entries::iterator, Hash> position_;
  std::size_t bytes_ = 0;
};

}  // namespace trifuse
