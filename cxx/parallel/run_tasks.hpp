#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cxx/base/zeroed_vector.hpp"
#include "cxx/parallel/rank_assignment.hpp"
#include "cxx/parallel/run_report.hpp"
#include "cxx/plan/executor.hpp"
#include "cxx/plan/plan.hpp"
#include "cxx/plan/task_results.hpp"

#pragma GCC visibility push(default)

namespace trifuse {

class Communicator;
class CompleteSums;
class Journal;

/// Settings of `run_tasks`.
struct RunSettings {
  int threads = 1;                          ///< number of workers, unless the executor wants another number
  Journal* journal = nullptr;               ///< null: no journal; with several ranks, all ranks have opened it together
  const std::atomic<bool>* stop = nullptr;  ///< a signal handler sets it to stop the run; may be null
  const std::atomic<bool>* input_refused = nullptr;  ///< stops the run as `stop` does; may be null
  /// Called after each task, by one thread at a time; may be empty.
  std::function<void(const RunProgress&)> progress = {};
  Communicator* communicator = nullptr;  ///< null: a single process
  RankAssignment assignment = {};        ///< role and resources of this rank
  /// Makes an executor on CPU cores after all devices of the executor have failed. The function may delete the failed
  /// executor. If the function is empty, the failure of the devices ends the run.
  std::function<std::unique_ptr<Executor>()> on_cores = {};
  int threads_on_cores = 1;  ///< as `threads`, for the executor of `on_cores`
  /// The reason why a device is not used although the user wanted it; empty if there is none. If it is given and there
  /// is no executor, this rank begins with `on_cores`.
  std::string failed_device = {};
  std::function<void(const std::string&)> warn = {};  ///< gets a warning as soon as a device fails; may be empty
  /// [task]: number of the task in the journal; empty: the same as its number in the plan.
  std::vector<std::size_t> numbers_in_journal = {};
  /// Pause between two times at which a run with a journal stores the arrays to which the tasks add; 0: after
  /// each batch.
  double seconds_between_sums = 60.0;
};

/// Result of `run_tasks`.
struct RunOutcome {
  std::vector<TaskEnergy> energies;              ///< energies[task, omega2], hartree
  std::vector<ZeroedVector<std::int64_t>> sums;  ///< [array][element], see ResultShape; of all tasks
  std::shared_ptr<CompleteSums> first_array;     ///< sums[0] if it has stayed on a device, and is empty here; else null
  std::vector<WorkerKind> kinds;                 ///< kinds[task]: the kind of worker that computed it
  double operations = 0.0;                       ///< floating-point operations that all ranks executed in this run
  std::size_t from_journal = 0;                  ///< tasks whose energies came from the journal
  std::size_t from_other_kind = 0;               ///< those of them from a kind of worker that takes no part in this run
  std::vector<RankWork> ranks;                   ///< ranks[rank]; one element for a single process
  std::vector<std::string> warnings;             ///< failures of devices, of all ranks
};

/// Executes all tasks of a plan that the journal does not contain, and returns the energies of all tasks. It uses
/// threads of this process, and the batches and the order of the executor. The energies of each task are stored
/// separately, so their sum does not depend on the order of execution or on the threads. When a batch ends, its tasks
/// go to the journal and to the progress function one by one.
///
/// If a worker throws DeviceError, the worker ends and other workers execute its batch. If all workers have ended in
/// this way, the executor of `RunSettings::on_cores` executes the remaining tasks.
///
/// With several ranks it is collective: all ranks pass the same plan and get the same outcome. Each task is executed by
/// one rank, and its energies are added to the zeros of the other ranks. So the bits do not depend on the number of
/// ranks. The unfinished tasks of a rank whose devices have failed are redistributed to all ranks.
///
/// `plan`: the tasks. `executor`: null if this rank is idle or begins with `on_cores`. `results`: what the
/// tasks return. `settings`: see RunSettings.
///
/// If there are a journal and arrays to which the tasks add, each rank stores its arrays in a file beside the journal,
/// from time to time and at the end, see StoredSums. Then only tasks whose sums are stored are taken from the journal.
///
/// Throws UsageError if the stored arrays are damaged or do not belong to this run. Throws the first exception of a
/// worker, Interrupted if a stop was requested before all tasks were done, and Error if an energy in double precision
/// is not a finite number. Energies in mixed precision may be infinite or NaN. If one rank throws, all ranks throw.
RunOutcome run_tasks(const Plan& plan, const Executor* executor, const ResultShape& results,
                     const RunSettings& settings);
inline RunOutcome run_tasks(const Plan& plan, const Executor& executor, const ResultShape& results,
                            const RunSettings& settings) {
  return run_tasks(plan, &executor, results, settings);
}

}

#pragma GCC visibility pop
