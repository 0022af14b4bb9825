#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace trifuse {

class Hdf5Dataset;

/// Checksums of an array in a file: the CRC-32 of each block of `block` consecutive elements in C order, the last block
/// shorter. An element is a 64-bit number, the lowest byte first: a float, or a two's complement integer where the
/// dataset holds integers. Once they are known, whatever is read of the array is compared with them. For any thread.
class BlockSums {
 public:
  /// Where the checksums come from, which decides what is said about other numbers.
  enum class Origin {
    seal,  ///< the maker of the file wrote them
    read   ///< this process computed them when it read the file first
  };

  /// `path` and `dataset` are for sentences. The checksums are not known yet.
  BlockSums(std::string path, std::string dataset, std::int64_t size, bool integer, std::int64_t block);

  const std::string& dataset() const { return dataset_; }
  std::int64_t block() const { return block_; }
  std::int64_t count() const { return (size_ + block_ - 1) / block_; }
  std::int64_t size() const { return size_; }  ///< elements

  bool known() const { return known_.load(std::memory_order_acquire); }
  /// Of all blocks; empty as long as they are not known.
  std::span<const std::uint32_t> sums() const;
  /// Makes them known. Where they are already, throws InputError unless they are the same.
  void set(std::vector<std::uint32_t> sums, Origin origin);

  /// Of consecutive blocks, where `values` begin with a block and end with one or with the array.
  std::vector<std::uint32_t> compute(std::span<const double> values) const;
  /// Throws InputError unless such values, from block `first` on, are what they were.
  void verify(std::int64_t first, std::span<const double> values) const;

  /// Reads a box of the array, and all blocks that it has a part in, which are verified. Memory that it needs besides
  /// does not grow with the box.
  void read(const Hdf5Dataset& dataset, std::span<const std::int64_t> offset, std::span<const std::int64_t> count,
            std::span<double> out) const;

 private:
  std::uint32_t sum_of(std::span<const double> values) const;
  [[noreturn]] void refuse(std::int64_t block) const;
  void read_run(const Hdf5Dataset& dataset, std::int64_t first, std::span<double> out) const;

  const std::string path_, dataset_;
  const std::int64_t size_, block_;
  const bool integer_;
  std::mutex mutex_;
  std::atomic<bool> known_{false};
  Origin origin_ = Origin::read;
  std::vector<std::uint32_t> sums_;
};

}  // namespace trifuse
