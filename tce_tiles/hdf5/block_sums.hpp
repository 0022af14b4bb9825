#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace trifuse {

class Hdf5Dataset;

/// The checksums of an array in a file.
///
/// A block is `block` consecutive elements in C order; the last block may be shorter. The checksum of a block is the
/// CRC-32 of its bytes. An element is a 64-bit number, lowest byte first: a two's complement integer if the dataset
/// holds integers, otherwise a float. As soon as the checksums are known, the file compares everything it reads of the
/// array with them. Thread-safe.
class BlockSums {
 public:
  /// The source of the checksums. It determines the message about a block that differs.
  enum class Origin {
    seal,  ///< the program that wrote the file wrote them
    read   ///< this job computed them when it first read the file
  };

  /// `path` and `dataset` name the array in messages. `size` is its number of elements, `integer`: true if the dataset
  /// contains integers. `block`: number of elements in a block. The checksums are not known yet.
  BlockSums(std::string path, std::string dataset, std::int64_t size, bool integer, std::int64_t block);

  std::int64_t block() const { return block_; }                         ///< elements in a block
  std::int64_t count() const { return (size_ + block_ - 1) / block_; }  ///< number of blocks
  std::int64_t size() const { return size_; }                           ///< elements in the array

  bool known() const { return known_.load(std::memory_order_acquire); }
  /// Returns the checksums of all blocks; empty if they are not known.
  std::span<const std::uint32_t> sums() const;
  /// Sets the checksums of all blocks. If they are known already, throws InputError unless `sums` are the same.
  void set(std::vector<std::uint32_t> sums, Origin origin);

  /// Computes the checksums of consecutive blocks. `values` must begin at the start of a block and end at the end of a
  /// block or of the array.
  std::vector<std::uint32_t> compute(std::span<const double> values) const;
  /// Throws InputError unless `values`, which begin with block `first`, have the known checksums. `values`: see
  /// `compute`.
  void verify(std::int64_t first, std::span<const double> values) const;

  /// Reads the box of `count` elements per axis from `offset` on into `out`, in C order. Reads and verifies every block
  /// that shares elements with the box. Throws InputError if a block differs. The memory that this needs besides `out`
  /// does not grow with the box.
  void read(const Hdf5Dataset& dataset, std::span<const std::int64_t> offset, std::span<const std::int64_t> count,
            std::span<double> out) const;

 private:
  /// Returns the checksum of one block.
  std::uint32_t sum_of(std::span<const double> values) const;
  /// Throws InputError about a block that differs.
  [[noreturn]] void refuse(std::int64_t block) const;
  /// Reads consecutive elements from element `first` on. It reads a block into scratch memory only if `out` holds a
  /// part of the block.
  void read_piece(const Hdf5Dataset& dataset, std::int64_t first, std::span<double> out) const;

  const std::string path_, dataset_;
  const std::int64_t size_, block_;
  const bool integer_;
  std::mutex mutex_;
  std::atomic<bool> known_{false};
  Origin origin_ = Origin::read;
  std::vector<std::uint32_t> sums_;
};

}
