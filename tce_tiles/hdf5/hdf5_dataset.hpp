#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "tce_tiles/hdf5/hdf5_description.hpp"
#include "tce_tiles/hdf5/hdf5_structure.hpp"

namespace trifuse {

class BlockSums;
class Hdf5ChunkReader;

/// A dataset of floats or integers in an open file. In memory its numbers are doubles. Thread-safe.
class Hdf5Dataset {
 public:
  Hdf5Dataset() = default;
  /// `name`: name of the dataset. `description`: from `describe_dataset`.
  Hdf5Dataset(std::shared_ptr<const Hdf5Structure> file, std::string name,
              std::shared_ptr<const Hdf5Description> description);

  const std::string& name() const { return name_; }
  /// Returns the extent of each axis, in C order.
  std::span<const std::int64_t> shape() const { return description_->shape; }
  std::int64_t size() const;  ///< number of elements
  bool is_integer() const { return description_->number.kind != Hdf5Number::Kind::real; }

  /// Sets the checksums of the dataset. From then on `read` compares all elements with them. If the checksums are not
  /// known yet, the first `read` of the whole dataset computes them.
  void verify_with(std::shared_ptr<BlockSums> sums) { sums_ = std::move(sums); }

  /// Reads the box of `count[k]` elements along each axis k from element `offset` on into `out`, in C order (last index
  /// fastest). `out` must have as many elements as the box. Throws InputError if the box is not inside the dataset, if
  /// the file is damaged, or if known checksums differ.
  void read(std::span<const std::int64_t> offset, std::span<const std::int64_t> count, std::span<double> out) const;
  /// Reads all elements in C order. `out` must have `size()` elements. Throws as `read` does.
  void read_all(std::span<double> out) const;
  /// Reads consecutive elements in C order, from element number `first` on, as they are in the file now. Does not
  /// compare checksums. Throws InputError if the file is damaged.
  void read_piece(std::int64_t first, std::span<double> out) const;

 private:
  void read_unverified(std::span<const std::int64_t> offset, std::span<const std::int64_t> count,
                       std::span<double> out) const;
  void read_plain_box(std::span<const std::int64_t> offset, std::span<const std::int64_t> count,
                      std::span<double> out) const;
  void read_plain_piece(std::int64_t first, std::span<double> out) const;

  std::shared_ptr<const Hdf5Structure> file_;
  std::string name_;
  std::shared_ptr<const Hdf5Description> description_;
  std::shared_ptr<Hdf5ChunkReader> chunks_;  ///< null unless the dataset has chunks
  std::shared_ptr<BlockSums> sums_;
};

}
