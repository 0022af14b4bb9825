#pragma once

#include <functional>
#include <memory>

#include "cxx/base/communicator.hpp"
#include "drivers/launcher.hpp"

namespace trifuse::cli {

/// The processes of an MPI job, which compute one energy together. Only the thread that began MPI calls the MPI
/// library.
class MpiProcesses {
 public:
  virtual ~MpiProcesses() = default;

  /// Runs `body` on another thread. `body` may use the communicator, and meanwhile this thread makes its MPI calls.
  /// Call it once, on the thread that began MPI. Throws what `body` throws, and SystemError if the MPI library cannot
  /// connect the processes.
  virtual void serve(const std::function<void(Communicator&)>& body) = 0;

  /// Ends MPI. Every rank calls it last. `code`: exit code of this rank. Returns the exit code for all ranks: the code
  /// of rank 0 if it is not 0, else the largest code. If rank 0 has failed, it calls `tell`; otherwise each rank that
  /// has failed calls `tell`. If a rank has failed alone and the others do not call this function within 5 s, that rank
  /// calls `tell` and aborts the whole job.
  virtual int end(int code, const std::function<void()>& tell) = 0;
};

/// Begins MPI. Throws UsageError if this build has no MPI, or if the MPI library sees another number of processes than
/// the launcher has started. Throws SystemError if the MPI library does not support threads.
std::unique_ptr<MpiProcesses> begin_mpi(const Launcher& launcher);

}
