#pragma once

#include <cstdint>
#include <memory>

namespace trifuse {

/// The state of a file driver for new files. HDF5 does not survive a failed write: its caches keep the unwritten data,
/// and the process crashes at the latest in the exit handler of HDF5. Therefore Trifuse writes new files through its
/// own driver. The driver tells HDF5 that every write succeeded and stores the first failure here. The caller must look
/// at `error` after each operation.
struct Hdf5OutputState {
  int descriptor = -1;  ///< descriptor of the empty file; HDF5 writes to it, whatever file name HDF5 gets
  int error = 0;        ///< errno of the first failure; 0 without a failure
};

/// Returns a file access property list for H5Fcreate that selects this driver. The caller closes the list. `state` must
/// outlive the file.
std::int64_t hdf5_output_access(Hdf5OutputState* state);

}
