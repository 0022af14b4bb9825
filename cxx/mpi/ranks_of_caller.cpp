#include "cxx/mpi/ranks_of_caller.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <exception>

#include "cxx/base/error.hpp"
#include "cxx/mpi/mpi_communicator.hpp"
#include "cxx/mpi/window_arrays.hpp"
#include "cxx/parallel/caller_thread.hpp"

namespace trifuse {

namespace {

/// As long as an object of this class lives, MPI returns errors that belong to no communicator. Otherwise an invalid
/// handle would end the program.
class ReturnedErrors {
 public:
  ReturnedErrors() {
    check_mpi(MPI_Comm_get_errhandler(MPI_COMM_WORLD, &before_), "MPI_Comm_get_errhandler");
    check_mpi(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  }
  ~ReturnedErrors() {
    static_cast<void>(MPI_Comm_set_errhandler(MPI_COMM_WORLD, before_));
    static_cast<void>(MPI_Errhandler_free(&before_));
  }
  ReturnedErrors(const ReturnedErrors&) = delete;
  ReturnedErrors& operator=(const ReturnedErrors&) = delete;

 private:
  MPI_Errhandler before_ = MPI_ERRHANDLER_NULL;
};

/// Returns the communicator of a handle. Throws as `expect_communicator`.
MPI_Comm communicator_of(int fortran_handle) {
  int begun = 0, ended = 0;
  check_mpi(MPI_Initialized(&begun), "MPI_Initialized");
  check_mpi(MPI_Finalized(&ended), "MPI_Finalized");
  if (begun == 0 || ended != 0) {
    throw UsageError(fmt::format("A communicator was passed, but MPI {}; pass one between MPI_Init and MPI_Finalize.",
                                 ended != 0 ? "is finalised" : "is not initialised"));
  }
  const ReturnedErrors errors;
  const MPI_Comm ranks = MPI_Comm_f2c(fortran_handle);
  int between_groups = 0;
  if (ranks == MPI_COMM_NULL || MPI_Comm_test_inter(ranks, &between_groups) != MPI_SUCCESS) {
    throw UsageError(
        fmt::format("{} is not the Fortran handle of a communicator that this process belongs to; pass the result of "
                    "MPI_Comm_c2f, or the integer of a Fortran program.",
                    fortran_handle));
  }
  if (between_groups != 0) {
    throw UsageError("The communicator connects two groups of processes; merge them by MPI_Intercomm_merge.");
  }
  return ranks;
}

/// Throws UsageError unless this thread may call MPI.
void expect_thread_of_mpi() {
  int provided = MPI_THREAD_SINGLE, main = 0;
  check_mpi(MPI_Query_thread(&provided), "MPI_Query_thread");
  check_mpi(MPI_Is_thread_main(&main), "MPI_Is_thread_main");
  if (main != 0 || provided == MPI_THREAD_SERIALIZED || provided == MPI_THREAD_MULTIPLE) return;
  throw UsageError(
      "A run with a communicator must be called by the thread that initialised MPI, or MPI must be initialised with "
      "MPI_THREAD_SERIALIZED or MPI_THREAD_MULTIPLE.");
}

}

void expect_communicator(int fortran_handle) {
  communicator_of(fortran_handle);
}

void serve_ranks(int fortran_handle, const std::function<void(Communicator&)>& body) {
  const MPI_Comm ranks = communicator_of(fortran_handle);
  expect_thread_of_mpi();
  CallerThread caller;
  MpiCommunicator communicator(ranks, caller, window_arrays());
  std::exception_ptr failure;
  try {
    communicator.serve([&] { body(communicator); });
  } catch (...) {
    failure = std::current_exception();
  }
  try {
    communicator.free();
  } catch (...) {
    if (!failure) failure = std::current_exception();
  }
  if (failure) std::rethrow_exception(failure);
}

}
