#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>

#include "tce_tiles/hdf5_description.hpp"

namespace trifuse {

/// Reads boxes of a dataset that consists of chunks. Keeps some chunks that were read. For any thread.
class Hdf5ChunkReader {
 public:
  /// `name`: of the dataset. `description` must hold chunks.
  Hdf5ChunkReader(std::shared_ptr<const Hdf5Structure> file, std::string name,
                  std::shared_ptr<const Hdf5Description> description)
      : file_(std::move(file)), name_(std::move(name)), description_(std::move(description)) {}

  /// A box that lies inside of the dataset and has elements, last index fastest. Throws InputError where a chunk is
  /// damaged.
  void read(std::span<const std::int64_t> offset, std::span<const std::int64_t> count, std::span<double> out);

 private:
  using Bytes = std::shared_ptr<const std::string>;
  /// The bytes of a chunk in memory.
  Bytes chunk(std::uint64_t n);
  Bytes read_chunk(const Hdf5Chunk& chunk) const;
  Bytes find(std::uint64_t n);
  void keep(std::uint64_t n, const Bytes& bytes);

  std::shared_ptr<const Hdf5Structure> file_;
  std::string name_;
  std::shared_ptr<const Hdf5Description> description_;
  std::mutex mutex_;
  std::list<std::pair<std::uint64_t, Bytes>> kept_;  ///< those that were used last in front
  std::unordered_map<std::uint64_t, std::list<std::pair<std::uint64_t, Bytes>>::iterator> places_;
};

}  // namespace trifuse
