#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "cxx/base/communicator.hpp"
#include "cxx/parallel/dynamic_scheduler.hpp"
#include "cxx/parallel/journal.hpp"
#include "cxx/parallel/run_tasks.hpp"
#include "cxx/parallel/stored_sums.hpp"
#include "cxx/plan/task_sums.hpp"

/// How the threads of one process execute tasks. `run_tasks` consists of these functions, for a single process and for
/// several ranks.
namespace trifuse {

/// Numbers of tasks in the plan, batches[batch][position].
using Batches = std::vector<std::vector<std::size_t>>;

/// The state that the threads of a run share.
struct TaskRun {
  TaskRun(const Plan& of, const RunSettings& chosen, const ResultShape& shape)
      : plan(of), settings(chosen), results(shape), sums(shape.sums), done(of.tasks.size(), false) {}

  const Plan& plan;
  const RunSettings& settings;
  const ResultShape results;
  TaskSums sums;                     ///< of this process, until the tasks are done
  std::optional<StoredSums> stored;  ///< only if there are a journal and sums
  const Executor* executor = nullptr;
  std::unique_ptr<Executor> on_cores;  ///< current executor after the devices have failed, else null
  WorkerKind kind = WorkerKind::other;
  int threads = 1;                   ///< number of workers
  std::atomic<bool> abandon{false};  ///< set after an exception: no thread begins another batch

  std::mutex queue_mutex;  ///< guards all members from here to `mutex`
  std::condition_variable queue_changed;
  Batches batches;  ///< all batches known so far; batches before `next` have begun
  std::size_t next = 0;
  std::size_t under_way = 0;                          ///< batches that a worker executes now; it may return them
  std::optional<DynamicScheduler> scheduler;          ///< source of further batches if there are several ranks
  bool unstored = false;                              ///< true: batches have ended since the sums were stored
  bool no_more_chunks = false;                        ///< true if this rank gets no more chunks
  Plan rest;                                          ///< the tasks that the chunks contain, in their order
  std::vector<std::size_t> numbers_of_rest;           ///< numbers in `plan` of the tasks of `rest`
  RunProgress progress_before{};                      ///< progress when the round began
  double operations_ended = 0.0, seconds_busy = 0.0;  ///< of finished batches of this executor, summed over its workers

  std::mutex mutex;  ///< guards all members below
  RunOutcome outcome;
  RankWork mine;                 ///< work of this rank
  std::vector<bool> done;        ///< done[task]: this process executed the task in this run
  RunProgress progress{};        ///< progress of this process, with the tasks of the journal
  RunProgress total_progress{};  ///< tasks that all ranks had received when this process last asked
  int workers_begun = 0, workers_failed = 0;
  std::exception_ptr device_failure;  ///< the last failure of a device
  std::string warning;

  /// Returns the number of a task of the plan in the journal.
  std::size_t number_in_journal(std::size_t task) const {
    return settings.numbers_in_journal.empty() ? task : settings.numbers_in_journal[task];
  }
  bool everything_done() const { return progress.tasks_done == plan.tasks.size(); }
  bool stopped() const {
    const auto is_set = [](const std::atomic<bool>* flag) { return flag != nullptr && flag->load(); };
    return is_set(settings.stop) || is_set(settings.input_refused);
  }
};

/// Returns the batches of the executor for the tasks that are not finished[task]. Throws Error unless they contain each
/// of these tasks exactly once.
Batches checked_batches(const Plan& plan, const Executor& executor, const std::vector<bool>& finished);

/// Returns a plan with only these tasks. It has all members of the whole plan that an executor reads.
Plan part_of(const Plan& plan, const std::vector<std::size_t>& tasks);

/// Executes batches on all threads until none are left. Returns false if all workers have ended because their devices
/// failed. If workers throw other exceptions, throws the exception of the worker with the lowest number.
bool work_on_all_threads(TaskRun& run);

/// Makes `executor` the executor of the run; null for an idle rank.
void set_executor(TaskRun& run, const Executor* executor);

/// Replaces the executor whose devices have failed by one on CPU cores. If this is not possible, throws the exception
/// of the devices.
void continue_on_cores(TaskRun& run);

/// Records a failure of a device, and warns the user if it is the first one of this process. Requires that the caller
/// holds `mutex` or that the threads have not begun. `why`: the reason.
void warn_of_device(TaskRun& run, const std::string& why);

/// Throws Interrupted with a sentence that says how many tasks are done and how to resume.
[[noreturn]] void throw_interrupted(const TaskRun& run);

/// Stores the sums of this process if there is a journal. No worker may execute a batch meanwhile.
void store_sums(TaskRun& run);
/// The same after the last task of this process. If all tasks are done and the sums cannot be stored, this is a
/// warning: the results are there.
void store_last_sums(TaskRun& run);

/// Sets the sums of the outcome: with what the devices of this process have summed, and the stored sums of absent
/// ranks.
void complete_sums(TaskRun& run);

/// Executes all tasks that are not finished[task] together with the other ranks. Collective.
void run_distributed(TaskRun& run, std::vector<bool> finished);

}
