#pragma once

#include <mpi.h>

#include <memory>
#include <span>
#include <vector>

#include "cxx/base/communicator.hpp"
#include "cxx/base/shared_array.hpp"
#include "cxx/parallel/caller_thread.hpp"

namespace trifuse {

/// Shared arrays in windows of MPI. Only the thread that serves `caller` calls the MPI library.
class WindowArrays {
 public:
  /// `ranks`: the MPI communicator of the ranks; its errors are returned. Both must outlive this object.
  WindowArrays(MPI_Comm ranks, CallerThread& caller) : ranks_(ranks), caller_(caller) {}
  WindowArrays(const WindowArrays&) = delete;
  WindowArrays& operator=(const WindowArrays&) = delete;

  /// Implements `Communicator::make_array` for `communicator`, which has the same ranks. Collective.
  std::unique_ptr<SharedArray> make(Communicator& communicator, std::span<const SharedSegment> segments);
  /// Frees the windows of all destroyed arrays. Collective. Call it on the serving thread, or while no thread serves.
  void free();

  MPI_Comm ranks() const { return ranks_; }
  CallerThread& caller() const { return caller_; }
  /// Marks a window as unused. All ranks free it together in the next `make` or `free`.
  void close(MPI_Win window) { unused_.push_back(window); }

 private:
  MPI_Comm ranks_;
  CallerThread& caller_;
  std::vector<MPI_Win> unused_;
};

}
