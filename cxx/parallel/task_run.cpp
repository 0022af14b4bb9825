#include "cxx/parallel/task_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>

#include "cxx/base/clock.hpp"
#include "cxx/base/error.hpp"
#include "cxx/base/share_among_threads.hpp"
#include "cxx/base/threads.hpp"
#include "cxx/plan/complete_sums.hpp"

namespace trifuse {

namespace {

bool finite(std::span<const TaskEnergy> energies) {
  return std::all_of(energies.begin(), energies.end(), [](const TaskEnergy& e) {
    const auto numbers = e.as_numbers();
    return std::all_of(numbers.begin(), numbers.end(), [](double x) { return std::isfinite(x); });
  });
}

std::string describe(const Task& task) {
  return fmt::format("particle tiles {} {} {}, hole tiles {} {} {}", task.particles[0] + 1, task.particles[1] + 1,
                     task.particles[2] + 1, task.holes[0] + 1, task.holes[1] + 1, task.holes[2] + 1);
}

/// Stores the energies of a finished task. Requires that the caller holds `mutex`. Throws Error if they are
/// not finite, unless they are in mixed precision.
void record_energies(TaskRun& run, std::size_t task, std::span<const TaskEnergy> energies) {
  if (!is_mixed(run.kind) && !finite(energies)) {
    throw Error(
        fmt::format("A task ({}) has no finite energy: the amplitudes, integrals or orbital energies are wrong; check "
                    "them with trifuse info.",
                    describe(run.plan.tasks[task])));
  }
  std::copy(energies.begin(), energies.end(),
            run.outcome.energies.begin() + static_cast<std::ptrdiff_t>(task * energies.size()));
  if (run.settings.journal != nullptr) run.settings.journal->append(run.number_in_journal(task), run.kind, energies);
  run.outcome.kinds[task] = run.kind;
  run.done[task] = true;
  ++run.mine.tasks;
  run.mine.operations += run.plan.operations[task];
  ++run.progress.tasks_done;
  run.progress.operations_done += run.plan.operations[task];
  if (run.settings.progress) run.settings.progress(run.scheduler ? run.total_progress : run.progress);
}

/// Throws Error unless `batches` contain each task with taken[task] = false exactly once. Without this check the sum of
/// energies could be wrong without a message.
void check_batches(const Batches& batches, std::vector<bool> taken) {
  for (const std::vector<std::size_t>& batch : batches) {
    for (const std::size_t task : batch) {
      if (task >= taken.size() || taken[task])
        throw Error("An executor requested a task twice, or a task that does not exist.");
      taken[task] = true;
    }
  }
  if (std::find(taken.begin(), taken.end(), false) != taken.end()) throw Error("An executor left out a task.");
}

}

Batches checked_batches(const Plan& plan, const Executor& executor, const std::vector<bool>& finished) {
  Batches batches = executor.batches(plan, finished);
  check_batches(batches, finished);
  return batches;
}

Plan part_of(const Plan& plan, const std::vector<std::size_t>& tasks) {
  Plan part;
  part.formulation = plan.formulation;
  part.tiles = plan.tiles;
  for (const std::size_t task : tasks) {
    part.tasks.push_back(plan.tasks[task]);
    part.operations.push_back(plan.operations[task]);
    part.total_operations += plan.operations[task];
  }
  return part;
}

namespace {

/// Returns the batches of the executor for the tasks of one claim. `tasks`: their numbers in `plan`.
Batches batches_of(const std::vector<std::size_t>& tasks, const Plan& plan, const Executor& executor) {
  const Plan part = part_of(plan, tasks);
  Batches batches = checked_batches(part, executor, std::vector<bool>(tasks.size(), false));
  for (std::vector<std::size_t>& batch : batches) {
    for (std::size_t& task : batch) task = tasks[task];
  }
  return batches;
}

/// Claims further chunks for this process and makes batches of their tasks. Returns false if there are none. Requires
/// that the caller holds `queue_mutex`.
bool fetch_batches(TaskRun& run) {
  if (!run.scheduler || run.no_more_chunks) return false;
  if (run.seconds_busy > 0.0) {
    run.scheduler->measured(run.operations_ended * run.threads / run.seconds_busy);
  }
  std::vector<std::size_t> tasks;
  for (const WorkChunk& chunk : run.scheduler->next()) {
    for (std::size_t t = chunk.first; t < chunk.last; ++t) tasks.push_back(run.numbers_of_rest[t]);
  }
  if (tasks.empty()) {
    run.no_more_chunks = true;
    return false;
  }
  {
    const std::lock_guard lock(run.mutex);
    const RunProgress& before = run.progress_before;
    run.total_progress = {before.tasks_done + run.scheduler->tasks_assigned(), before.tasks,
                          before.operations_done + run.scheduler->operations_assigned(), before.operations};
  }
  run.batches = batches_of(tasks, run.plan, *run.executor);
  run.next = 0;
  return true;
}

/// Returns the next batch for a worker; an empty batch at the end. If no batch is left but other workers still execute
/// batches, it waits, because a failing worker returns its batch. It also waits if the sums are to be stored: then no
/// batch may be half done.
std::vector<std::size_t> next_batch(TaskRun& run) {
  std::unique_lock lock(run.queue_mutex);
  while (!run.abandon && !run.stopped()) {
    if (run.stored && run.unstored && run.stored->due(run.settings.seconds_between_sums)) {
      if (run.under_way == 0) {
        store_sums(run);
      } else {
        run.queue_changed.wait(lock);
      }
      continue;
    }
    if (run.next < run.batches.size()) {
      // If another rank has failed, nobody needs the claimed batches any more.
      if (run.scheduler && run.scheduler->drained()) return {};
      ++run.under_way;
      return std::move(run.batches[run.next++]);
    }
    if (fetch_batches(run)) continue;
    if (run.under_way == 0) break;
    run.queue_changed.wait(lock);
  }
  return {};
}

/// Records that a worker has executed a batch in `seconds`.
void end_batch(TaskRun& run, const std::vector<std::size_t>& batch, double seconds) {
  const std::lock_guard lock(run.queue_mutex);
  --run.under_way;
  run.unstored = true;
  run.seconds_busy += seconds;
  for (const std::size_t task : batch) run.operations_ended += run.plan.operations[task];
  run.queue_changed.notify_all();
}

/// Returns the batch of a failed worker to the queue.
void hand_back(TaskRun& run, std::vector<std::size_t> batch) {
  const std::lock_guard lock(run.queue_mutex);
  --run.under_way;
  run.batches.push_back(std::move(batch));
  run.queue_changed.notify_all();
}

}

void warn_of_device(TaskRun& run, const std::string& why) {
  run.mine.device_failed = true;
  if (!run.warning.empty()) return;
  const Communicator* const communicator = run.settings.communicator;
  run.warning = fmt::format("A GPU{} is no longer used, and other GPUs or CPU cores compute its tasks: {}",
                            communicator != nullptr ? fmt::format(" of rank {}", communicator->rank()) : "", why);
  if (run.settings.warn) run.settings.warn(run.warning);
}

namespace {

/// Records that a worker ends because its device failed. Call it only inside a catch block.
void give_up_worker(TaskRun& run, const DeviceError& why) {
  const std::lock_guard lock(run.mutex);
  ++run.workers_failed;
  run.device_failure = std::current_exception();
  // Without `on_cores` the failure ends the run, so a warning is not needed.
  if (run.settings.on_cores) warn_of_device(run, why.what());
}

/// Executes batches on the calling thread until none are left or its device fails.
void work(TaskRun& run) {
  {
    const std::lock_guard lock(run.mutex);
    ++run.workers_begun;
  }
  double operations = 0.0;
  std::vector<std::size_t> batch;
  try {
    const std::unique_ptr<Executor::Worker> worker = run.executor->make_worker();
    std::vector<Task> tasks;
    std::vector<TaskEnergy> energies;
    for (operations = worker->operations();; operations = worker->operations()) {
      batch = next_batch(run);
      if (batch.empty()) break;
      tasks.clear();
      for (const std::size_t task : batch) tasks.push_back(run.plan.tasks[task]);
      energies.assign(batch.size() * run.results.omega2, TaskEnergy{});
      const double begin = wall_seconds();
      worker->execute(tasks, {energies, &run.sums});
      const double seconds = wall_seconds() - begin;
      {
        const std::lock_guard lock(run.mutex);
        for (std::size_t position = 0; position < batch.size(); ++position) {
          record_energies(run, batch[position],
                          std::span(energies).subspan(position * run.results.omega2, run.results.omega2));
        }
      }
      end_batch(run, batch, seconds);
    }
  } catch (const DeviceError& error) {
    give_up_worker(run, error);
    if (!batch.empty()) hand_back(run, std::move(batch));
  }
  const std::lock_guard lock(run.mutex);
  run.outcome.operations += operations;
}

}

bool work_on_all_threads(TaskRun& run) {
  const int threads = run.on_cores ? run.settings.threads_on_cores : run.settings.threads;
  run.threads = startable_threads(run.executor->workers() > 0 ? run.executor->workers() : threads);
  run.workers_begun = run.workers_failed = 0;
  run.operations_ended = run.seconds_busy = 0.0;
  run.under_way = 0;
  std::atomic<bool> ended{false};  // for a worker
  const auto end = [&](bool failed) {
    const std::lock_guard lock(run.queue_mutex);
    ended = true;
    if (failed) run.abandon = true;
    run.queue_changed.notify_all();
  };
  const auto worker = [&](std::size_t) {
    try {
      work(run);
      end(false);
    } catch (...) {
      end(true);
      throw;
    }
  };
  // Workers of GPUs leave cores idle. If their sums will be stored, one of these gets the memory to which they move. It
  // begins after the first batch: until then workers get memory, and one would wait for the other.
  constexpr std::size_t fetch = 1;
  on_new_threads(run.executor->keeps_sums() && run.stored ? 2 : 1, [&](std::size_t n) {
    if (n != fetch) return on_threads(run.threads, worker);
    {
      std::unique_lock lock(run.queue_mutex);
      run.queue_changed.wait(lock, [&] { return ended || run.operations_ended > 0.0; });
    }
    run.sums.fetch_memory(ended);
  });
  run.mine.seconds_busy += run.seconds_busy / run.threads;
  return run.workers_failed < run.workers_begun;
}

void store_sums(TaskRun& run) {
  if (run.stored) {
    if (run.executor != nullptr) run.executor->move_sums_to(run.sums);
    run.stored->write(run.done, run.sums);
  }
  run.unstored = false;
}

void store_last_sums(TaskRun& run) {
  try {
    store_sums(run);
  } catch (const SumsNotStored& error) {
    if (run.stopped()) throw;
    run.unstored = false;
    run.warning += (run.warning.empty() ? "" : " ") + std::string(error.what());
    if (run.settings.warn) run.settings.warn(error.what());
  }
}

void complete_sums(TaskRun& run) {
  std::shared_ptr<CompleteSums>& first = run.outcome.first_array;
  if (run.executor != nullptr) {
    if (!run.stored && run.sums.arrays() > 0) first = run.executor->keep_first_array(run.sums);
    if (first == nullptr) run.executor->move_sums_to(run.sums);
  }
  if (run.stored) run.stored->add_absent(run.sums);
  run.outcome.sums = run.sums.take(first == nullptr);
}

void set_executor(TaskRun& run, const Executor* executor) {
  run.executor = executor;
  if (executor != nullptr) run.kind = worker_kind(executor->name());
}

void continue_on_cores(TaskRun& run) {
  if (!run.settings.on_cores || run.on_cores) {
    if (run.device_failure) std::rethrow_exception(run.device_failure);
    throw DeviceError(run.settings.failed_device);
  }
  if (run.executor != nullptr) run.executor->move_sums_to(run.sums);
  run.executor = nullptr;
  run.on_cores = run.settings.on_cores();
  set_executor(run, run.on_cores.get());
}

void throw_interrupted(const TaskRun& run) {
  const Journal* journal = run.settings.journal;
  const std::size_t tasks = run.plan.tasks.size();
  const std::string done = run.scheduler
                               ? fmt::format("Stopped before all {} tasks were finished; ", tasks)
                               : fmt::format("Stopped after {} of {} tasks; ", run.progress.tasks_done, tasks);
  throw Interrupted(done + (journal != nullptr
                                ? fmt::format("the same command resumes from the journal {}.", journal->path())
                                : "nothing was saved (use --journal FILE to be able to resume)."));
}

}
