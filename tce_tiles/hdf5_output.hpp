#pragma once

#include <cstdint>
#include <memory>

namespace trifuse {

/// HDF5 does not survive a failed write: its caches keep what they could not write, and the process crashes in HDF5's
/// exit handler at the latest. New files are therefore written through a file driver of our own. It tells HDF5 that
/// every write went well and keeps the first failure here, where the caller looks after each operation.
struct Hdf5OutputState {
  int descriptor = -1;  ///< of the empty file that HDF5 is to write, whatever name it is told
  int error = 0;        ///< errno, 0 while all is well
};

/// A file access property list (closed by the caller) for H5Fcreate that uses this driver. `state` must outlive the
/// file.
std::int64_t hdf5_output_access(Hdf5OutputState* state);

}  // namespace trifuse
