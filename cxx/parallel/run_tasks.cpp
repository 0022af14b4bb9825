#include "cxx/parallel/run_tasks.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>

#include "cxx/base/error.hpp"

namespace trifuse {

namespace {

bool finite(std::span<const TaskEnergy> energies) {
  return std::all_of(energies.begin(), energies.end(), [](const TaskEnergy& e) {
    return std::isfinite(e.same_bracket) && std::isfinite(e.same_paren) && std::isfinite(e.mixed_bracket) &&
           std::isfinite(e.mixed_paren);
  });
}

std::string describe(const Task& task) {
  return fmt::format("particle tiles {} {} {}, hole tiles {} {} {}", task.particles[0] + 1, task.particles[1] + 1,
                     task.particles[2] + 1, task.holes[0] + 1, task.holes[1] + 1, task.holes[2] + 1);
}

using Batches = std::vector<std::vector<std::size_t>>;

/// What the threads of a run share.
struct Shared {
  Shared(const Plan& of, const RunSettings& chosen) : plan(of), settings(chosen) {}

  const Plan& plan;
  const RunSettings& settings;
  std::atomic<bool> abandon{false};
  std::mutex queue_mutex;  ///< guards the batches
  Batches batches;         ///< known so far; those before `next` have begun
  std::size_t next = 0;
  std::optional<UnitClaims> claims;  ///< where more comes from, in a team
  std::mutex mutex;                  ///< guards all below
  RunOutcome outcome;
  RunProgress progress{};          ///< of this process
  RunProgress progress_of_team{};  ///< what had been given out when this process asked last
  std::exception_ptr error;
};

/// Takes the energies of one task in. The mutex is held.
void keep(Shared& shared, std::size_t task, std::span<const TaskEnergy> energies) {
  if (!finite(energies)) {
    throw Error(fmt::format(
        "A task ({}) has no finite energy: the amplitudes, integrals or orbital energies are not sound; check "
        "them with trifuse info.",
        describe(shared.plan.tasks[task])));
  }
  std::copy(energies.begin(), energies.end(),
            shared.outcome.energies.begin() + static_cast<std::ptrdiff_t>(task * energies.size()));
  if (shared.settings.journal != nullptr) shared.settings.journal->append(task, energies);
  ++shared.progress.tasks_done;
  shared.progress.operations_done += shared.plan.operations[task];
  if (shared.settings.progress) shared.settings.progress(shared.claims ? shared.progress_of_team : shared.progress);
}

/// A list that leaves a task out, or has it twice, would make a wrong sum without a word.
void check_batches(const Batches& batches, std::vector<bool> taken) {
  for (const std::vector<std::size_t>& batch : batches) {
    for (const std::size_t task : batch) {
      if (task >= taken.size() || taken[task]) throw Error("An executor wants a task twice, or one that is not there.");
      taken[task] = true;
    }
  }
  if (std::find(taken.begin(), taken.end(), false) != taken.end()) throw Error("An executor leaves a task out.");
}

/// Batches of the tasks that are not `finished`.
Batches checked_batches(const Plan& plan, const Executor& executor, const std::vector<bool>& finished) {
  Batches batches = executor.batches(plan, finished);
  check_batches(batches, finished);
  return batches;
}

/// Batches of one unit, as of a plan of its own: what an executor needs to know of the whole plan it finds in any part.
Batches batches_of(const Unit& unit, const Plan& plan, const Executor& executor) {
  Plan part;
  part.form = plan.form;
  part.tiles = plan.tiles;
  const auto at = [](const auto& list, std::size_t n) { return list.begin() + static_cast<std::ptrdiff_t>(n); };
  part.tasks.assign(at(plan.tasks, unit.first), at(plan.tasks, unit.last));
  part.operations.assign(at(plan.operations, unit.first), at(plan.operations, unit.last));
  part.total_operations = unit.operations;
  Batches batches = checked_batches(part, executor, std::vector<bool>(part.tasks.size(), false));
  for (std::vector<std::size_t>& batch : batches) {
    for (std::size_t& task : batch) task += unit.first;
  }
  return batches;
}

/// The tasks that a worker does next; empty at the end.
std::vector<std::size_t> next_batch(Shared& shared, const Executor& executor) {
  const std::lock_guard lock(shared.queue_mutex);
  while (shared.next == shared.batches.size()) {
    const std::optional<Unit> unit = shared.claims ? shared.claims->next() : std::nullopt;
    if (!unit) return {};
    {
      const std::lock_guard progress_lock(shared.mutex);
      shared.progress_of_team = {shared.claims->tasks_given(), shared.plan.tasks.size(),
                                 shared.claims->operations_given(), shared.plan.total_operations};
    }
    shared.batches = batches_of(*unit, shared.plan, executor);
    shared.next = 0;
  }
  return std::move(shared.batches[shared.next++]);
}

void work(Shared& shared, const Executor& executor, std::size_t energies_per_task) {
  const std::unique_ptr<Executor::Worker> worker = executor.make_worker();
  std::vector<Task> tasks;
  std::vector<TaskEnergy> energies;
  const auto stopped = [&] { return shared.settings.stop != nullptr && shared.settings.stop->load(); };
  while (!shared.abandon && !stopped()) {
    const std::vector<std::size_t> batch = next_batch(shared, executor);
    if (batch.empty()) break;
    tasks.clear();
    for (const std::size_t task : batch) tasks.push_back(shared.plan.tasks[task]);
    energies.assign(batch.size() * energies_per_task, TaskEnergy{});
    worker->execute(tasks, energies);
    const std::lock_guard lock(shared.mutex);
    for (std::size_t position = 0; position < batch.size(); ++position) {
      keep(shared, batch[position], std::span(energies).subspan(position * energies_per_task, energies_per_task));
    }
  }
  const std::lock_guard lock(shared.mutex);
  shared.outcome.operations += worker->operations();
}

/// Lets the threads of this process work until nothing is left; what one of them threw is thrown here.
void work_on_all_threads(Shared& shared, const Executor& executor, std::size_t energies_per_task) {
  const int threads = executor.workers() > 0 ? executor.workers() : shared.settings.threads;
#pragma omp parallel num_threads(std::max(1, threads))
  {
    // Nothing may leave a parallel region but through its end.
    try {
      work(shared, executor, energies_per_task);
    } catch (...) {
      const std::lock_guard lock(shared.mutex);
      if (!shared.error) shared.error = std::current_exception();
      shared.abandon = true;
    }
  }
  if (shared.error) std::rethrow_exception(shared.error);
}

[[noreturn]] void throw_interrupted(const Shared& shared) {
  if (shared.claims) {
    throw Interrupted(
        fmt::format("Stopped before all of {} tasks were done; nothing was kept.", shared.plan.tasks.size()));
  }
  const Journal* journal = shared.settings.journal;
  throw Interrupted(
      journal != nullptr
          ? fmt::format("Stopped after {} of {} tasks; the same command goes on from the journal {}.",
                        shared.progress.tasks_done, shared.plan.tasks.size(), journal->path())
          : fmt::format("Stopped after {} of {} tasks; nothing was kept (use --journal FILE to be able to go on).",
                        shared.progress.tasks_done, shared.plan.tasks.size()));
}

/// Does this rank's share, and adds the outcomes of all ranks.
void run_in_team(Shared& shared, const Executor* executor, std::size_t energies_per_task) {
  Team& team = *shared.settings.team;
  refuse_journal_in_team(shared.settings.journal != nullptr);
  shared.claims.emplace(team, make_units(shared.plan, team.size()), shared.settings.share);
  together(&team, [&] {
    if (executor == nullptr) return;
    try {
      work_on_all_threads(shared, *executor, energies_per_task);
    } catch (...) {
      shared.claims->drain();
      throw;
    }
    const bool stopped = shared.settings.stop != nullptr && shared.settings.stop->load();
    if (stopped && shared.progress.tasks_done < shared.plan.tasks.size()) {
      shared.claims->drain();
      throw_interrupted(shared);
    }
  });
  std::vector<double> numbers;
  numbers.reserve(4 * shared.outcome.energies.size() + 2);
  for (const TaskEnergy& e : shared.outcome.energies) {
    numbers.insert(numbers.end(), {e.same_bracket, e.same_paren, e.mixed_bracket, e.mixed_paren});
  }
  numbers.insert(numbers.end(), {shared.outcome.operations, static_cast<double>(shared.progress.tasks_done)});
  team.sum(numbers);
  const double* number = numbers.data();
  for (TaskEnergy& e : shared.outcome.energies) {
    e = {number[0], number[1], number[2], number[3]};
    number += 4;
  }
  shared.outcome.operations = number[0];
  if (number[1] != static_cast<double>(shared.plan.tasks.size())) {
    throw Error(fmt::format("The ranks did {} of {} tasks; their shared counter does not count.", number[1],
                            shared.plan.tasks.size()));
  }
}

}  // namespace

void refuse_journal_in_team(bool asked_for) {
  if (asked_for) throw UsageError("A journal is kept by a run of one process; leave it out with several of them.");
}

RunOutcome run_tasks(const Plan& plan, const Executor* executor, std::size_t energies_per_task,
                     const RunSettings& settings) {
  Shared shared(plan, settings);
  std::vector<bool> finished(plan.tasks.size(), false);
  shared.outcome.energies.resize(plan.tasks.size() * energies_per_task);
  shared.progress = {0, plan.tasks.size(), 0.0, plan.total_operations};
  if (settings.team != nullptr) {
    run_in_team(shared, executor, energies_per_task);
    return std::move(shared.outcome);
  }
  for (std::size_t task = 0; settings.journal != nullptr && task < plan.tasks.size(); ++task) {
    if (!settings.journal->finished(task)) continue;
    finished[task] = true;
    const auto stored = settings.journal->energies(task);
    std::copy(stored.begin(), stored.end(),
              shared.outcome.energies.begin() + static_cast<std::ptrdiff_t>(task * energies_per_task));
    ++shared.outcome.from_journal;
    ++shared.progress.tasks_done;
    shared.progress.operations_done += plan.operations[task];
  }
  shared.batches = checked_batches(plan, *executor, finished);
  work_on_all_threads(shared, *executor, energies_per_task);
  if (shared.progress.tasks_done < plan.tasks.size()) throw_interrupted(shared);
  return std::move(shared.outcome);
}

}  // namespace trifuse
