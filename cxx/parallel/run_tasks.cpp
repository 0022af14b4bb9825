#include "cxx/parallel/run_tasks.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <memory>
#include <mutex>

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

/// What the threads of a run share.
struct Shared {
  const Plan& plan;
  const RunSettings& settings;
  std::vector<std::vector<std::size_t>> batches;
  std::atomic<std::size_t> next{0};
  std::atomic<bool> abandon{false};
  std::mutex mutex;  ///< guards all below
  RunOutcome outcome;
  RunProgress progress{};
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
  if (shared.settings.progress) shared.settings.progress(shared.progress);
}

/// A list that leaves a task out, or has it twice, would make a wrong sum without a word.
void check_batches(const std::vector<std::vector<std::size_t>>& batches, std::vector<bool> taken) {
  for (const std::vector<std::size_t>& batch : batches) {
    for (const std::size_t task : batch) {
      if (task >= taken.size() || taken[task]) throw Error("An executor wants a task twice, or one that is not there.");
      taken[task] = true;
    }
  }
  if (std::find(taken.begin(), taken.end(), false) != taken.end()) throw Error("An executor leaves a task out.");
}

void work(Shared& shared, const Executor& executor, std::size_t energies_per_task) {
  const std::unique_ptr<Executor::Worker> worker = executor.make_worker();
  std::vector<Task> tasks;
  std::vector<TaskEnergy> energies;
  const auto stopped = [&] { return shared.settings.stop != nullptr && shared.settings.stop->load(); };
  while (!shared.abandon && !stopped()) {
    const std::size_t n = shared.next++;
    if (n >= shared.batches.size()) break;
    const std::vector<std::size_t>& batch = shared.batches[n];
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

}  // namespace

RunOutcome run_tasks(const Plan& plan, const Executor& executor, std::size_t energies_per_task,
                     const RunSettings& settings) {
  Shared shared{plan, settings, {}, {}, {}, {}, {}, {}, {}};
  std::vector<bool> finished(plan.tasks.size(), false);
  shared.outcome.energies.resize(plan.tasks.size() * energies_per_task);
  shared.progress = {0, plan.tasks.size(), 0.0, plan.total_operations};
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
  shared.batches = executor.batches(plan, finished);
  check_batches(shared.batches, std::move(finished));
  const int threads = executor.workers() > 0 ? executor.workers() : settings.threads;
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
  if (shared.progress.tasks_done < plan.tasks.size()) {
    throw Interrupted(
        settings.journal != nullptr
            ? fmt::format("Stopped after {} of {} tasks; the same command goes on from the journal {}.",
                          shared.progress.tasks_done, plan.tasks.size(), settings.journal->path())
            : fmt::format("Stopped after {} of {} tasks; nothing was kept (use --journal FILE to be able to go on).",
                          shared.progress.tasks_done, plan.tasks.size()));
  }
  return std::move(shared.outcome);
}

}  // namespace trifuse
