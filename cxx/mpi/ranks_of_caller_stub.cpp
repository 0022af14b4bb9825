#include "cxx/base/error.hpp"
#include "cxx/mpi/ranks_of_caller.hpp"

/// Replaces ranks_of_caller.cpp in a build without MPI.
namespace trifuse {

void expect_communicator(int) {
  throw UsageError(
      "This build of Trifuse has no MPI and computes in one process; build it with MPI (-DTRIFUSE_ENABLE_MPI=ON) to "
      "compute with a communicator.");
}

void serve_ranks(int fortran_handle, const std::function<void(Communicator&)>&) {
  expect_communicator(fortran_handle);
}

}
