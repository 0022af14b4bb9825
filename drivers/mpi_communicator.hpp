#pragma once

#include <functional>
#include <memory>

#include "cxx/base/communicator.hpp"
#include "drivers/launcher.hpp"

namespace trifuse::cli {

/// The processes of an MPI job, which compute one energy together. All calls of MPI are made by the thread that began
/// it.
class MpiProcesses {
 public:
  virtual ~MpiProcesses() = default;

  /// Runs `body` on another thread, which may use the team while this one serves it. Called once. Throws SystemError
  /// where the library cannot join the processes.
  virtual void serve(const std::function<void(Communicator&)>& body) = 0;

  /// Ends MPI; every rank calls it last, with the exit code that it has come to. Returns the one that all ranks end
  /// with. Where it is not 0, `tell` is called on one rank. A rank that failed alone, so that others do not come here,
  /// tells and ends the whole job.
  virtual int end(int code, const std::function<void()>& tell) = 0;
};

/// Begins MPI. Throws UsageError where this build has none, and where its MPI does not see those whom the launcher
/// started.
std::unique_ptr<MpiProcesses> begin_mpi(const Launcher& launcher);

}  // namespace trifuse::cli
