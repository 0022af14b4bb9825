#include "cxx/parallel/run_tasks.hpp"

#include <algorithm>
#include <array>

#include "cxx/base/clock.hpp"
#include "cxx/base/error.hpp"
#include "cxx/parallel/task_run.hpp"

namespace trifuse {

namespace {

/// Copies the energies of the journal and the kinds of their workers to the outcome.
void take_from_journal(TaskRun& run, const std::vector<bool>& finished) {
  if (run.settings.journal == nullptr) return;
  for (std::size_t task = 0; task < finished.size(); ++task) {
    if (!finished[task]) continue;
    const std::size_t number = run.number_in_journal(task);
    const auto stored = run.settings.journal->energies(number);
    run.outcome.kinds[task] = run.settings.journal->by(number);
    std::copy(stored.begin(), stored.end(),
              run.outcome.energies.begin() + static_cast<std::ptrdiff_t>(task * run.results.omega2));
  }
}

/// Executes all tasks that are not `finished` in a run of a single process.
void run_alone(TaskRun& run, const std::vector<bool>& finished) {
  if (run.executor == nullptr) continue_on_cores(run);
  while (true) {
    std::vector<bool> over = finished;
    for (std::size_t task = 0; task < over.size(); ++task) over[task] = over[task] || run.done[task];
    run.batches = checked_batches(run.plan, *run.executor, over);
    run.next = 0;
    if (work_on_all_threads(run) || run.stopped() || run.everything_done()) break;
    continue_on_cores(run);
  }
  store_last_sums(run);
  if (!run.everything_done()) throw_interrupted(run);
}

/// Returns the number of tasks of the journal that were computed by a kind of worker that takes no part in this run.
std::size_t from_other_kind(const TaskRun& run, const std::vector<bool>& finished) {
  if (run.settings.journal == nullptr) return 0;
  std::array<bool, worker_kinds> now{};
  for (const RankWork& rank : run.outcome.ranks) {
    if (!rank.computed) continue;
    now[static_cast<std::size_t>(rank.kind)] = true;
    if (rank.device_failed) now[static_cast<std::size_t>(WorkerKind::cpu)] = true;
  }
  std::size_t tasks = 0;
  for (std::size_t task = 0; task < finished.size(); ++task) {
    if (finished[task] && !now[static_cast<std::size_t>(run.outcome.kinds[task])]) ++tasks;
  }
  return tasks;
}

}

RunOutcome run_tasks(const Plan& plan, const Executor* executor, const ResultShape& results,
                     const RunSettings& settings) {
  TaskRun run(plan, settings, results);
  if (settings.journal != nullptr && !results.sums.empty())
    run.stored.emplace(*settings.journal, results.sums, settings.communicator, run.sums);
  run.outcome.energies.resize(plan.tasks.size() * results.omega2);
  run.outcome.kinds.resize(plan.tasks.size(), WorkerKind::other);
  run.progress = {0, plan.tasks.size(), 0.0, plan.total_operations};
  std::vector<bool> finished(plan.tasks.size(), false);
  for (std::size_t task = 0; settings.journal != nullptr && task < plan.tasks.size(); ++task) {
    if (!settings.journal->finished(run.number_in_journal(task)) || (run.stored && !run.stored->contains(task)))
      continue;
    finished[task] = true;
    ++run.outcome.from_journal;
    ++run.progress.tasks_done;
    run.progress.operations_done += plan.operations[task];
  }
  set_executor(run, executor);
  run.mine.kind = executor == nullptr && !settings.failed_device.empty() ? WorkerKind::cuda : run.kind;
  if (!settings.failed_device.empty()) warn_of_device(run, settings.failed_device);
  if (settings.communicator != nullptr) {
    run_distributed(run, finished);
  } else {
    const double start = wall_seconds();
    run.mine.computed = true;
    run_alone(run, finished);
    complete_sums(run);
    run.mine.seconds_idle = std::max(0.0, wall_seconds() - start - run.mine.seconds_busy);
    run.outcome.ranks = {run.mine};
    if (!run.warning.empty()) run.outcome.warnings = {run.warning};
  }
  take_from_journal(run, finished);
  run.outcome.from_other_kind = from_other_kind(run, finished);
  return std::move(run.outcome);
}

}
