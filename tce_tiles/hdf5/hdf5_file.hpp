#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tce_tiles/hdf5/hdf5_attributes.hpp"
#include "tce_tiles/hdf5/hdf5_dataset.hpp"

namespace trifuse {

class BlockSums;

/// An HDF5 file that is open for reading. This class does not use the HDF5 library: on damaged files that library
/// crashes, hangs or returns other memory. Every failure is an InputError with one sentence that names the file and the
/// object. The file is opened only once, so all data come from the same file even if another file takes its name.
/// Thread-safe.
class Hdf5File {
 public:
  /// Opens a file. Throws InputError. The message says whether the file is absent, unreadable, truncated or not an HDF5
  /// file.
  static Hdf5File open(const std::string& path);

  const std::string& path() const;
  /// Returns the attributes of the root group.
  const Hdf5Attributes& attributes() const;

  /// Returns true if there is an object of this name, e.g. `x` or `group/x`.
  bool has(const std::string& name) const;
  /// Opens a dataset. Throws InputError if the dataset is absent, incomplete or damaged. The description of a dataset
  /// is checked when the dataset is first opened.
  Hdf5Dataset dataset(const std::string& name) const;
  /// Returns the names of the objects in a group, in ascending order. `/` is the root group. Throws InputError if there
  /// is no such group.
  std::vector<std::string> members(const std::string& group) const;

  /// Returns the checksums of a dataset; null if the dataset has none.
  using SumsFinder = std::function<std::shared_ptr<BlockSums>(const Hdf5Dataset&)>;
  /// Sets the checksums of all datasets that are opened from now on. Each `read` compares with them.
  void verify_with(SumsFinder finder) { sums_of_ = std::move(finder); }

 private:
  struct State;
  std::shared_ptr<State> state_;
  SumsFinder sums_of_;
};

/// Returns true if the file has the HDF5 signature, also if it is truncated. False if the file cannot be read.
bool is_hdf5(const std::string& path);

}
