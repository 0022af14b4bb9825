#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "cxx/base/buffer_cache.hpp"
#include "tce_tiles/hdf5/hdf5_description.hpp"

namespace trifuse {

/// Reads boxes of a dataset that is stored in chunks. Keeps some chunks in memory after it has read them. Thread-safe.
class Hdf5ChunkReader {
 public:
  /// `name`: name of the dataset, for error messages. The storage of `description` must be `Hdf5Chunks`.
  Hdf5ChunkReader(std::shared_ptr<const Hdf5Structure> file, std::string name,
                  std::shared_ptr<const Hdf5Description> description)
      : file_(std::move(file)), name_(std::move(name)), description_(std::move(description)) {}

  /// Reads the box of `count[k]` elements along each axis k from element `offset` on into `out`, in C order. The box
  /// must lie inside the dataset and must not be empty. Throws InputError if a chunk is damaged.
  void read(std::span<const std::int64_t> offset, std::span<const std::int64_t> count, std::span<double> out);

 private:
  /// Returns the bytes of chunk number `n` in C order, after all filters are undone.
  BufferCache::Use chunk(std::uint64_t n);

  static constexpr std::int64_t max_cached_bytes = std::int64_t{32} << 20;
  std::shared_ptr<const Hdf5Structure> file_;
  std::string name_;
  std::shared_ptr<const Hdf5Description> description_;
  BufferCache chunks_{max_cached_bytes, 1};  ///< by number of the chunk
};

}
