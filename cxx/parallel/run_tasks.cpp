#include "cxx/parallel/run_tasks.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>

#include "cxx/base/clock.hpp"
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
  Shared(const Plan& of, const RunSettings& chosen, std::size_t energies)
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

  bool stopped() const { return settings.stop != nullptr && settings.stop->load(); }
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
  if (shared.settings.journal != nullptr) shared.settings.journal->append(task, shared.kind, energies);
  shared.done[task] = true;
  ++shared.mine.tasks;
  shared.mine.operations += shared.plan.operations[task];
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

/// These tasks as a plan of their own: what an executor needs to know of the whole plan it finds in any part.
Plan part_of(const Plan& plan, const std::vector<std::size_t>& tasks) {
  Plan part;
  part.form = plan.form;
  part.tiles = plan.tiles;
  for (const std::size_t task : tasks) {
    part.tasks.push_back(plan.tasks[task]);
    part.operations.push_back(plan.operations[task]);
    part.total_operations += plan.operations[task];
  }
  return part;
}

/// Batches of tasks that a rank got together.
Batches batches_of(const std::vector<std::size_t>& tasks, const Plan& plan, const Executor& executor) {
  const Plan part = part_of(plan, tasks);
  Batches batches = checked_batches(part, executor, std::vector<bool>(tasks.size(), false));
  for (std::vector<std::size_t>& batch : batches) {
    for (std::size_t& task : batch) task = tasks[task];
  }
  return batches;
}

/// Gets more for this process from the team; false where there is nothing. The queue's mutex is held.
bool claim_batches(Shared& shared) {
  if (!shared.claims || shared.claims_ended) return false;
  if (shared.seconds_busy > 0.0) {
    shared.claims->measured(shared.operations_ended * shared.threads / shared.seconds_busy);
  }
  std::vector<std::size_t> tasks;
  for (const Unit& unit : shared.claims->next()) {
    for (std::size_t t = unit.first; t < unit.last; ++t) tasks.push_back(shared.numbers_of_rest[t]);
  }
  if (tasks.empty()) {
    shared.claims_ended = true;
    return false;
  }
  {
    const std::lock_guard lock(shared.mutex);
    const RunProgress& before = shared.before_claims;
    shared.progress_of_team = {before.tasks_done + shared.claims->tasks_given(), before.tasks,
                               before.operations_done + shared.claims->operations_given(), before.operations};
  }
  shared.batches = batches_of(tasks, shared.plan, *shared.executor);
  shared.next = 0;
  return true;
}

/// The tasks that a worker does next; empty at the end. While there are none but others are under way it waits: those
/// may come back.
std::vector<std::size_t> next_batch(Shared& shared) {
  std::unique_lock lock(shared.queue_mutex);
  while (!shared.abandon && !shared.stopped()) {
    if (shared.next < shared.batches.size()) {
      // Where another rank has failed what this one has taken is not needed any more.
      if (shared.claims && shared.claims->drained()) return {};
      ++shared.under_way;
      return std::move(shared.batches[shared.next++]);
    }
    if (claim_batches(shared)) continue;
    if (shared.under_way == 0) break;
    shared.queue_changed.wait(lock);
  }
  return {};
}

void end_batch(Shared& shared, const std::vector<std::size_t>& batch, double seconds) {
  const std::lock_guard lock(shared.queue_mutex);
  --shared.under_way;
  shared.seconds_busy += seconds;
  for (const std::size_t task : batch) shared.operations_ended += shared.plan.operations[task];
  shared.queue_changed.notify_all();
}

void hand_back(Shared& shared, std::vector<std::size_t> batch) {
  const std::lock_guard lock(shared.queue_mutex);
  --shared.under_way;
  shared.batches.push_back(std::move(batch));
  shared.queue_changed.notify_all();
}

/// Tells of the first device that fails here. The mutex is held.
void warn_of_device(Shared& shared, const std::string& why) {
  shared.mine.device_failed = true;
  if (!shared.warning.empty()) return;
  const Team* const team = shared.settings.team;
  shared.warning = fmt::format("A GPU{} is given up, and its tasks are done by other workers or by cores: {}",
                               team != nullptr ? fmt::format(" of rank {}", team->rank()) : "", why);
  if (shared.settings.warn) shared.settings.warn(shared.warning);
}

void give_up_worker(Shared& shared, const DeviceError& why) {
  const std::lock_guard lock(shared.mutex);
  ++shared.workers_failed;
  shared.device_failure = std::current_exception();
  // Where nobody can take its place that is no warning but the end.
  if (shared.settings.on_cores) warn_of_device(shared, why.what());
}

void work(Shared& shared) {
  {
    const std::lock_guard lock(shared.mutex);
    ++shared.workers_begun;
  }
  double operations = 0.0;
  std::vector<std::size_t> batch;
  try {
    const std::unique_ptr<Executor::Worker> worker = shared.executor->make_worker();
    std::vector<Task> tasks;
    std::vector<TaskEnergy> energies;
    for (operations = worker->operations();; operations = worker->operations()) {
      batch = next_batch(shared);
      if (batch.empty()) break;
      tasks.clear();
      for (const std::size_t task : batch) tasks.push_back(shared.plan.tasks[task]);
      energies.assign(batch.size() * shared.energies_per_task, TaskEnergy{});
      const double begin = wall_seconds();
      worker->execute(tasks, energies);
      const double seconds = wall_seconds() - begin;
      {
        const std::lock_guard lock(shared.mutex);
        for (std::size_t position = 0; position < batch.size(); ++position) {
          keep(shared, batch[position],
               std::span(energies).subspan(position * shared.energies_per_task, shared.energies_per_task));
        }
      }
      end_batch(shared, batch, seconds);
    }
  } catch (const DeviceError& error) {
    give_up_worker(shared, error);
    if (!batch.empty()) hand_back(shared, std::move(batch));
  }
  const std::lock_guard lock(shared.mutex);
  shared.outcome.operations += operations;
}

/// Lets the threads of this process work until nothing is left; what one of them threw is thrown here. Returns false
/// where all workers have ended because of their devices.
bool work_on_all_threads(Shared& shared) {
  const int threads = shared.on_cores ? shared.settings.threads_on_cores : shared.settings.threads;
  shared.threads = std::max(1, shared.executor->workers() > 0 ? shared.executor->workers() : threads);
  shared.workers_begun = shared.workers_failed = 0;
  shared.operations_ended = shared.seconds_busy = 0.0;
  shared.under_way = 0;
#pragma omp parallel num_threads(shared.threads)
  {
    // Nothing may leave a parallel region but through its end.
    try {
      work(shared);
    } catch (...) {
      {
        const std::lock_guard lock(shared.mutex);
        if (!shared.error) shared.error = std::current_exception();
      }
      const std::lock_guard lock(shared.queue_mutex);
      shared.abandon = true;
      shared.queue_changed.notify_all();
    }
  }
  shared.mine.seconds_busy += shared.seconds_busy / shared.threads;
  if (shared.error) std::rethrow_exception(shared.error);
  return shared.workers_failed < shared.workers_begun;
}

void set_executor(Shared& shared, const Executor* executor) {
  shared.executor = executor;
  if (executor != nullptr) shared.kind = worker_kind(executor->name());
}

/// Puts cores in the place of devices that have failed.
void go_on_with_cores(Shared& shared) {
  if (!shared.settings.on_cores || shared.on_cores) {
    if (shared.device_failure) std::rethrow_exception(shared.device_failure);
    throw DeviceError(shared.settings.failed_device);
  }
  shared.executor = nullptr;
  shared.on_cores = shared.settings.on_cores();
  set_executor(shared, shared.on_cores.get());
}

[[noreturn]] void throw_interrupted(const Shared& shared) {
  const Journal* journal = shared.settings.journal;
  const std::size_t tasks = shared.plan.tasks.size();
  const std::string done = shared.claims
                               ? fmt::format("Stopped before all of {} tasks were done; ", tasks)
                               : fmt::format("Stopped after {} of {} tasks; ", shared.progress.tasks_done, tasks);
  throw Interrupted(done + (journal != nullptr
                                ? fmt::format("the same command goes on from the journal {}.", journal->path())
                                : "nothing was kept (use --journal FILE to be able to go on)."));
}

/// Takes the energies of the journal in.
void take_from_journal(Shared& shared, const std::vector<bool>& finished) {
  if (shared.settings.journal == nullptr) return;
  for (std::size_t task = 0; task < finished.size(); ++task) {
    if (!shared.settings.journal->finished(task)) continue;
    const auto stored = shared.settings.journal->energies(task);
    std::copy(stored.begin(), stored.end(),
              shared.outcome.energies.begin() + static_cast<std::ptrdiff_t>(task * shared.energies_per_task));
  }
}

bool everything_done(const Shared& shared) {
  return shared.progress.tasks_done == shared.plan.tasks.size();
}

void run_alone(Shared& shared, const std::vector<bool>& finished) {
  if (shared.executor == nullptr) go_on_with_cores(shared);
  while (true) {
    std::vector<bool> over = finished;
    for (std::size_t task = 0; task < over.size(); ++task) over[task] = over[task] || shared.done[task];
    shared.batches = checked_batches(shared.plan, *shared.executor, over);
    shared.next = 0;
    if (work_on_all_threads(shared) || shared.stopped() || everything_done(shared)) break;
    go_on_with_cores(shared);
  }
  if (!everything_done(shared)) throw_interrupted(shared);
}

/// Finds out together what each rank does now, and gets the claims ready: collective.
void begin_claims(Shared& shared, TeamShare& share, const std::vector<bool>& finished) {
  Team& team = *shared.settings.team;
  const bool computes = share.role != TeamShare::Role::waiter;
  const std::int64_t begin = UnitClaims::counter_of(team);
  const std::array<double, 3> mine = {computes ? share.rate : 0.0, computes ? 1.0 : 0.0,
                                      share.role == TeamShare::Role::worker ? 1.0 : 0.0};
  const std::vector<double> all = gather(team, mine);
  std::vector<double> rates;
  double workers = 0.0, rate_of_workers = 0.0;
  share.team_rate = 0.0;
  for (std::size_t at = 0; at < all.size(); at += mine.size()) {
    rates.push_back(all[at]);
    share.team_rate += all[at];
    workers += all[at + 2];
    rate_of_workers += all[at + 2] * all[at];
  }
  if (workers == 0.0 && computes) share.role = TeamShare::Role::worker;
  share.worker_rate = workers > 0.0 ? rate_of_workers / workers : 0.0;
  shared.numbers_of_rest.clear();
  shared.before_claims = {0, shared.plan.tasks.size(), 0.0, shared.plan.total_operations};
  for (std::size_t task = 0; task < finished.size(); ++task) {
    if (!finished[task]) {
      shared.numbers_of_rest.push_back(task);
      continue;
    }
    ++shared.before_claims.tasks_done;
    shared.before_claims.operations_done += shared.plan.operations[task];
  }
  shared.rest = part_of(shared.plan, shared.numbers_of_rest);
  shared.batches.clear();
  shared.next = 0;
  shared.claims_ended = false;
  shared.claims.emplace(team, make_units(shared.rest, ranks_to_cut_for(rates)), share, begin);
}

/// Does this rank's part of what is given out.
void work_in_team(Shared& shared, TeamShare& share) {
  try {
    while (shared.executor != nullptr && !work_on_all_threads(shared)) {
      // What it had taken and not done is given out anew, when the others have done the rest.
      share.role = TeamShare::Role::helper;
      if (share.rate_on_cores > 0.0) share.rate = share.rate_on_cores;
      shared.batches.clear();
      shared.next = 0;
      go_on_with_cores(shared);
      shared.claims->goes_on_with_cores();
      shared.claims_ended = false;
    }
    if (shared.stopped() && shared.executor != nullptr && !everything_done(shared)) throw_interrupted(shared);
  } catch (...) {
    shared.claims->drain();
    throw;
  }
}

/// Sums what all ranks did; energies that this rank does not have are zero here.
void add_outcomes(Shared& shared, double seconds) {
  Team& team = *shared.settings.team;
  RankWork& mine = shared.mine;
  mine.seconds_idle = std::max(0.0, seconds - mine.seconds_busy);
  const std::array<double, 8> row = {static_cast<double>(mine.kind),
                                     mine.computed ? 1.0 : 0.0,
                                     mine.device_failed ? 1.0 : 0.0,
                                     static_cast<double>(mine.tasks),
                                     mine.operations,
                                     mine.seconds_busy,
                                     mine.seconds_idle,
                                     shared.outcome.operations};
  const std::vector<double> rows = gather(team, row);
  shared.outcome.operations = 0.0;
  bool warned = false;
  for (std::size_t at = 0; at < rows.size(); at += row.size()) {
    const double* n = rows.data() + at;
    shared.outcome.ranks.push_back({static_cast<WorkerKind>(static_cast<int>(n[0])), n[1] != 0.0, n[2] != 0.0,
                                    static_cast<std::size_t>(n[3]), n[4], n[5], n[6]});
    shared.outcome.operations += n[7];
    warned = warned || n[2] != 0.0;
  }
  if (warned) {
    constexpr std::size_t longest = 1000;
    for (const std::string& warning : gather(team, shared.warning, longest)) {
      if (!warning.empty()) shared.outcome.warnings.push_back(warning);
    }
  }
  std::vector<double> numbers;
  numbers.reserve(4 * shared.outcome.energies.size());
  for (const TaskEnergy& e : shared.outcome.energies) {
    numbers.insert(numbers.end(), {e.same_bracket, e.same_paren, e.mixed_bracket, e.mixed_paren});
  }
  team.sum(numbers);
  const double* number = numbers.data();
  for (TaskEnergy& e : shared.outcome.energies) {
    e = {number[0], number[1], number[2], number[3]};
    number += 4;
  }
}

/// Which tasks are finished now, on any rank: collective.
void agree_on_finished(Team& team, const std::vector<bool>& done, std::vector<bool>& finished) {
  std::vector<double> flags(done.begin(), done.end());
  team.sum(flags);
  for (std::size_t task = 0; task < flags.size(); ++task) {
    if (flags[task] != 0.0) finished[task] = true;
  }
}

/// Gives tasks out until all are done: what is left after the first time is what ranks with failed devices had taken.
void run_in_team(Shared& shared, std::vector<bool> finished) {
  Team& team = *shared.settings.team;
  TeamShare share = shared.settings.share;
  const auto in_journal = static_cast<double>(shared.progress.tasks_done), tasks = static_cast<double>(finished.size());
  const double start = wall_seconds();
  together(&team, [&] {
    if (shared.executor != nullptr || shared.settings.failed_device.empty()) return;
    share.role = TeamShare::Role::helper;
    if (share.rate_on_cores > 0.0) share.rate = share.rate_on_cores;
    go_on_with_cores(shared);
  });
  if (shared.executor == nullptr) share.role = TeamShare::Role::waiter;
  shared.mine.computed = shared.executor != nullptr;
  double done_before = in_journal, failed_before = -1.0;
  while (true) {
    begin_claims(shared, share, finished);
    together(&team, [&] { work_in_team(shared, share); });
    std::array<double, 2> sums = {static_cast<double>(shared.mine.tasks), shared.on_cores ? 1.0 : 0.0};
    team.sum(sums);
    const double done = in_journal + sums[0];
    if (done == tasks) break;
    // Either somebody did something, or there is one rank less whose devices can fail.
    if (done > tasks || (done == done_before && sums[1] == failed_before)) {
      throw Error(fmt::format("The ranks did {} of {} tasks; their shared counter does not count.", done, tasks));
    }
    done_before = done;
    failed_before = sums[1];
    agree_on_finished(team, shared.done, finished);
  }
  add_outcomes(shared, wall_seconds() - start);
}

/// Tasks of the journal that no kind of worker computed that took part now.
std::size_t from_other_kind(const Shared& shared) {
  if (shared.settings.journal == nullptr) return 0;
  std::array<bool, worker_kinds> now{};
  for (const RankWork& rank : shared.outcome.ranks) {
    if (!rank.computed) continue;
    now[static_cast<std::size_t>(rank.kind)] = true;
    if (rank.device_failed) now[static_cast<std::size_t>(WorkerKind::cpu)] = true;
  }
  std::size_t tasks = 0;
  for (std::size_t kind = 0; kind < worker_kinds; ++kind) {
    if (!now[kind]) tasks += shared.settings.journal->finished_by()[kind];
  }
  return tasks;
}

}  // namespace

RunOutcome run_tasks(const Plan& plan, const Executor* executor, std::size_t energies_per_task,
                     const RunSettings& settings) {
  Shared shared(plan, settings, energies_per_task);
  shared.outcome.energies.resize(plan.tasks.size() * energies_per_task);
  shared.progress = {0, plan.tasks.size(), 0.0, plan.total_operations};
  std::vector<bool> finished(plan.tasks.size(), false);
  for (std::size_t task = 0; settings.journal != nullptr && task < plan.tasks.size(); ++task) {
    if (!settings.journal->finished(task)) continue;
    finished[task] = true;
    ++shared.outcome.from_journal;
    ++shared.progress.tasks_done;
    shared.progress.operations_done += plan.operations[task];
  }
  set_executor(shared, executor);
  shared.mine.kind = executor == nullptr && !settings.failed_device.empty() ? WorkerKind::cuda : shared.kind;
  if (executor == nullptr && !settings.failed_device.empty()) warn_of_device(shared, settings.failed_device);
  if (settings.team != nullptr) {
    run_in_team(shared, finished);
  } else {
    const double start = wall_seconds();
    shared.mine.computed = true;
    run_alone(shared, finished);
    shared.mine.seconds_idle = std::max(0.0, wall_seconds() - start - shared.mine.seconds_busy);
    shared.outcome.ranks = {shared.mine};
    if (!shared.warning.empty()) shared.outcome.warnings = {shared.warning};
  }
  take_from_journal(shared, finished);
  shared.outcome.from_other_kind = from_other_kind(shared);
  return std::move(shared.outcome);
}

}  // namespace trifuse
