#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tce_tiles/hdf5_attributes.hpp"
#include "tce_tiles/hdf5_dataset.hpp"

namespace trifuse {

class BlockSums;

/// An HDF5 file that is read, without the HDF5 library: that library crashes, hangs or returns other memory where a
/// file is damaged. Every failure is an InputError with one sentence that names the file and the object. The file is
/// opened once, so that everything comes from the same file, even if another one takes its name. For any thread.
class Hdf5File {
 public:
  /// The sentence says whether the file is absent, unreadable, truncated or no HDF5 file at all.
  static Hdf5File open(const std::string& path);

  const std::string& path() const;
  const Hdf5Attributes& attributes() const;

  /// True if an object has this name: `x`, or `group/x`.
  bool has(const std::string& name) const;
  /// Throws InputError if the dataset is absent, if not all of its numbers are in this file, or if it is damaged. The
  /// description is checked when the dataset is opened for the first time.
  Hdf5Dataset dataset(const std::string& name) const;
  /// Names of the objects in a group that is there, in ascending order; `/` is the root group.
  std::vector<std::string> members(const std::string& group) const;

  /// The checksums of a dataset; null where it has none.
  using SumsFinder = std::function<std::shared_ptr<BlockSums>(const Hdf5Dataset&)>;
  /// Datasets that are opened from now on are compared with their checksums when they are read.
  void verify_with(SumsFinder finder) { sums_of_ = std::move(finder); }

 private:
  struct State;
  std::shared_ptr<State> state_;
  SumsFinder sums_of_;
};

/// True if the file carries HDF5's signature, truncated or not; false when it cannot be read.
bool is_hdf5(const std::string& path);

}  // namespace trifuse
