#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "cxx/base/communicator.hpp"
#include "cxx/mpi/shared_segments.hpp"
#include "cxx/parallel/caller_thread.hpp"

namespace trifuse {

/// Throws SystemError unless `code` is MPI_SUCCESS. `call`: name of the MPI function, for the message.
void check_mpi(int code, const char* call);

/// Returns true if the MPI library calls itself `name`, e.g. "MPICH" or "Open MPI".
bool mpi_library_is(std::string_view name);

/// Waits for a collective operation. It sleeps between tests, because ranks that still compute may need the core. At
/// each test the MPI library also serves requests of these ranks. Returns false if the operation takes longer than
/// `limit` seconds. If `limit` is 0, there is no limit.
bool wait_for(MPI_Request& request, double limit);

/// The ranks of an MPI communicator. The shared counters are in a window on rank 0, the shared arrays in arrays of a
/// library. Only the thread that serves `caller` calls the MPI library.
class MpiCommunicator : public Communicator {
 public:
  /// Duplicates `ranks`. Collective. `caller` must outlive this object. `library`: makes the shared arrays. Throws
  /// SystemError if the MPI library has no one-sided communication between the ranks.
  MpiCommunicator(MPI_Comm ranks, CallerThread& caller, std::unique_ptr<ArrayLibrary> library);
  MpiCommunicator(const MpiCommunicator&) = delete;
  MpiCommunicator& operator=(const MpiCommunicator&) = delete;

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  std::int64_t fetch_add(int counter, std::int64_t amount) override;
  void allreduce_sum(std::span<double> values) override;
  bool has_arrays() const override { return true; }
  std::unique_ptr<SharedArray> make_array(std::span<const SharedSegment> segments) override;

  /// Runs `body` on another thread. Meanwhile this thread makes the MPI calls of `body`, and serves requests of other
  /// ranks, which read data of this rank. Throws what `body` throws.
  template <typename Body>
  void serve(Body body) {
    caller_.serve(body, [this] { progress(); });
  }
  /// Frees the arrays, the window and the duplicate. Collective. It must be the last call, on the thread that made this
  /// object.
  void free();

 private:
  /// Lets the MPI library serve requests of other ranks to this rank.
  void progress() const;

  CallerThread& caller_;
  SharedArrays arrays_;
  MPI_Comm ranks_ = MPI_COMM_NULL;
  MPI_Win window_ = MPI_WIN_NULL;
  int rank_ = 0, size_ = 1;
};

}
