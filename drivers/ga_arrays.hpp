#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "cxx/base/communicator.hpp"
#include "cxx/parallel/caller_thread.hpp"

namespace trifuse::cli {

/// The library Global Arrays. It is initialised when the first array is made. All its calls are made on the thread that
/// serves `caller`, see `make_global_arrays`. Its arrays belong to all processes of the MPI job.
class GlobalArrays {
 public:
  virtual ~GlobalArrays() = default;
  /// Implements `Communicator::make_array` for `communicator`: creates an array of these segments. Collective. Throws
  /// SystemError on all ranks if memory is short or if Global Arrays do not work with the MPI library.
  virtual std::unique_ptr<SharedArray> make(Communicator& communicator, std::span<const SharedSegment> segments) = 0;
  /// Frees all arrays and ends Global Arrays. Collective. Call it on the thread that began MPI.
  virtual void end() = 0;
};

/// Returns null if this build has no Global Arrays. `caller` must outlive the result.
std::unique_ptr<GlobalArrays> make_global_arrays(CallerThread& caller);

}
