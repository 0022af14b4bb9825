#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cxx/base/communicator.hpp"
#include "cxx/parallel/run_report.hpp"
#include "cxx/parallel/units.hpp"
#include "cxx/plan/executor.hpp"
#include "cxx/plan/plan.hpp"

namespace trifuse {

class Journal;

struct RunSettings {
  int threads = 1;                                   ///< unless the executor wants another number of workers
  Journal* journal = nullptr;                        ///< may be null; with a team it was opened by all of its ranks
  const std::atomic<bool>* stop = nullptr;           ///< set by a signal handler; may be null
  std::function<void(const RunProgress&)> progress;  ///< called by one thread at a time after each task; may be empty
  Communicator* communicator = nullptr;              ///< null: this process alone
  TeamShare share = {};                              ///< of this rank in the team
  /// Makes an executor that takes the place of one whose devices have all failed, which it may delete. Empty: their
  /// failure ends the run.
  std::function<std::unique_ptr<Executor>()> on_cores = {};
  int threads_on_cores = 1;
  /// Why a device is not used that should have been. Where there is no executor either, this rank begins with
  /// `on_cores`.
  std::string failed_device = {};
  std::function<void(const std::string&)> warn = {};  ///< told of a device that has failed, at once; may be empty
};

struct RunOutcome {
  std::vector<TaskEnergy> energies;  ///< [omega2, task], omega2 fastest
  double operations = 0.0;           ///< floating-point operations of the products executed now, by all ranks
  std::size_t from_journal = 0;      ///< tasks that did not have to be executed
  std::size_t from_other_kind = 0;   ///< of these, computed by another kind of worker than any of this run
  std::vector<RankWork> ranks;       ///< of each rank
  std::vector<std::string> warnings;
};

/// Executes all tasks of a plan that the journal does not have on the threads of this process, in the batches and the
/// order that the executor wants. Each task's energies are kept apart, so their sum does not depend on who did what and
/// when. Tasks reach the journal and the progress one by one when their batch has ended. Throws what a worker threw
/// first, Interrupted when asked to stop, and Error when a task's energy is not a finite number.
///
/// A worker that throws DeviceError hands its batch back and ends; the others go on. When all have ended so,
/// `RunSettings::on_cores` takes their place.
///
/// With a team the same call is made on all ranks with the same plan, and all get the same outcome: each task is
/// executed by one of them, and its energies are added to zeros of the others, so how many ranks there are does not
/// change a bit. What a rank with failed devices had taken, all ranks take anew. Where one rank fails all of them
/// throw. `executor` may be null for a rank that only waits.
RunOutcome run_tasks(const Plan& plan, const Executor* executor, std::size_t energies_per_task,
                     const RunSettings& settings);
inline RunOutcome run_tasks(const Plan& plan, const Executor& executor, std::size_t energies_per_task,
                            const RunSettings& settings) {
  return run_tasks(plan, &executor, energies_per_task, settings);
}

}  // namespace trifuse
