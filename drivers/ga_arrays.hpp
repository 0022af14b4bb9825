#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "cxx/base/communicator.hpp"
#include "cxx/parallel/caller_thread.hpp"

namespace trifuse::cli {

/// Global Arrays, which begin with the first array. They are called on the thread that serves `caller`, and belong to
/// all processes of MPI.
class GlobalArrays {
 public:
  virtual ~GlobalArrays() = default;
  /// For `Communicator::make_array`, which `communicator` asks for.
  virtual std::unique_ptr<SharedArray> make(Communicator& communicator, std::span<const SharedSegment> pieces) = 0;
  /// Frees all arrays and ends Global Arrays: collective, called by the thread that began MPI.
  virtual void end() = 0;
};

/// Null where this build has no Global Arrays.
std::unique_ptr<GlobalArrays> make_global_arrays(CallerThread& caller);

}  // namespace trifuse::cli
