#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "tce_tiles/hdf5_description.hpp"
#include "tce_tiles/hdf5_structure.hpp"

namespace trifuse {

class BlockSums;
class Hdf5ChunkReader;

/// A dataset of real numbers or integers in a file that is read. Its numbers are doubles in memory. For any thread.
class Hdf5Dataset {
 public:
  Hdf5Dataset() = default;
  Hdf5Dataset(std::shared_ptr<const Hdf5Structure> file, std::string name,
              std::shared_ptr<const Hdf5Description> description);

  const std::string& name() const { return name_; }
  std::span<const std::int64_t> shape() const { return description_->shape; }
  std::int64_t size() const;  ///< number of elements
  bool is_integer() const { return description_->number.kind != Hdf5Number::Kind::real; }

  /// From now on `read` compares what it reads with these checksums.
  void verify_with(std::shared_ptr<BlockSums> sums) { sums_ = std::move(sums); }

  /// The box of `count` elements from `offset` on, last index fastest. Where there are checksums, `out` agrees with
  /// them. Throws InputError where the file does not, or where it is damaged.
  void read(std::span<const std::int64_t> offset, std::span<const std::int64_t> count, std::span<double> out) const;
  void read_all(std::span<double> out) const;
  /// Consecutive elements in C order from number `first` on, as they stand in the file now, with no checksum.
  void read_run(std::int64_t first, std::span<double> out) const;

 private:
  void read_unverified(std::span<const std::int64_t> offset, std::span<const std::int64_t> count,
                       std::span<double> out) const;
  void read_plain_box(std::span<const std::int64_t> offset, std::span<const std::int64_t> count,
                      std::span<double> out) const;
  void read_plain_run(std::int64_t first, std::span<double> out) const;

  std::shared_ptr<const Hdf5Structure> file_;
  std::string name_;
  std::shared_ptr<const Hdf5Description> description_;
  std::shared_ptr<Hdf5ChunkReader> chunks_;  ///< null unless the dataset has chunks
  std::shared_ptr<BlockSums> sums_;
};

/// "[3,4]".
std::string shape_text(std::span<const std::int64_t> shape);

}  // namespace trifuse
