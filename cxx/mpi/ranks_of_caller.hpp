#pragma once

#include <functional>

#include "cxx/base/communicator.hpp"

/// The ranks of an MPI communicator that the calling program hands over. This header needs no MPI.
namespace trifuse {

/// Throws UsageError if no run can use this communicator: this build has no MPI, MPI is not initialised, or the number
/// is not the Fortran handle of a communicator inside one group of processes. Not collective.
void expect_communicator(int fortran_handle);

/// Runs `body` on another thread. `body` may use the communicator, which has shared arrays. Meanwhile this thread makes
/// the MPI calls of the communicator. Collective. Call it on the thread that may call MPI. Throws what `body` throws,
/// what `expect_communicator` throws, and SystemError if the MPI library cannot connect the processes. If `body` throws
/// on one rank, it must throw on all.
///
/// `fortran_handle`: the communicator, as MPI_Comm_c2f returns it. It is duplicated, and freed at the end.
void serve_ranks(int fortran_handle, const std::function<void(Communicator&)>& body);

}
