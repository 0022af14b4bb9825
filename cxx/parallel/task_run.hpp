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

#include "cxx/parallel/journal.hpp"
#include "cxx/parallel/run_tasks.hpp"

/// How the threads of one process execute tasks: what `run_tasks` is made of, alone and in a team.
namespace trifuse {

using Batches = std::vector<std::vector<std::size_t>>;

/// What the threads of a run share.
struct TaskRun {
  TaskRun(const Plan& of, const RunSettings& chosen, std::size_t energies)
      : plan(of), settings(chosen), energies_per_task(energies), done(of.tasks.size(), false) {}

  const Plan& plan;
  const RunSettings& settings;
  const std::size_t energies_per_task;
  const Executor* executor = nullptr;
  std::unique_ptr<Executor> on_cores;  ///< `executor`, after devices have failed
  WorkerKind kind = WorkerKind::other;
  int threads = 1;
  std::atomic<bool> abandon{false};

  std::mutex queue_mutex;  ///< guards what follows, up to the next mutex
  std::condition_variable queue_changed;
  Batches batches;  ///< known so far; those before `next` have begun
  std::size_t next = 0;
  std::size_t under_way = 0;         ///< batches that may come back
  std::optional<UnitClaims> claims;  ///< where more comes from, in a team
  bool claims_ended = false;
  Plan rest;                                          ///< what the units of the claims are made of
  std::vector<std::size_t> numbers_of_rest;           ///< of its tasks in `plan`
  RunProgress before_claims{};                        ///< what was done when the claims began
  double operations_ended = 0.0, seconds_busy = 0.0;  ///< by the workers of this executor, seconds of all together

  std::mutex mutex;  ///< guards all below
  RunOutcome outcome;
  RankWork mine;
  std::vector<bool> done;          ///< by this process now
  RunProgress progress{};          ///< of this process, the journal included
  RunProgress progress_of_team{};  ///< what had been given out when this process asked last
  int workers_begun = 0, workers_failed = 0;
  std::exception_ptr device_failure;
  std::string warning;
  std::exception_ptr error;

  bool everything_done() const { return progress.tasks_done == plan.tasks.size(); }
  bool stopped() const { return settings.stop != nullptr && settings.stop->load(); }
};

/// Batches of the tasks that are not `finished`: what the executor wants, if that is all of them once.
Batches checked_batches(const Plan& plan, const Executor& executor, const std::vector<bool>& finished);

/// These tasks as a plan of their own: what an executor needs to know of the whole plan it finds in any part.
Plan part_of(const Plan& plan, const std::vector<std::size_t>& tasks);

/// Lets the threads of this process work until nothing is left; what one of them threw is thrown here. Returns false
/// where all workers have ended because of their devices.
bool work_on_all_threads(TaskRun& run);

void set_executor(TaskRun& run, const Executor* executor);

/// Puts cores in the place of devices that have failed. Throws what the devices failed with where nothing can.
void go_on_with_cores(TaskRun& run);

/// Tells of the first device that fails here. The mutex is held, or the threads have not begun.
void warn_of_device(TaskRun& run, const std::string& why);

[[noreturn]] void throw_interrupted(const TaskRun& run);

/// The part of `run_tasks` that differs in a team: gives tasks out until all are done.
void run_in_team(TaskRun& run, std::vector<bool> finished);

}  // namespace trifuse
