#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <exception>
#include <span>
#include <utility>
#include <vector>

#include "cxx/base/clock.hpp"
#include "cxx/base/error.hpp"
#include "cxx/parallel/task_run.hpp"
#include "cxx/plan/complete_sums.hpp"
#include "cxx/plan/task_order.hpp"

namespace trifuse {

namespace {

/// Exchanges the roles and rates of all ranks and prepares the dynamic schedule for all tasks that are not
/// `finished`. Collective.
void begin_round(TaskRun& run, RankAssignment& assignment, const std::vector<bool>& finished) {
  Communicator& communicator = *run.settings.communicator;
  const bool computes = assignment.role != RankAssignment::Role::idle;
  const std::int64_t begin = DynamicScheduler::counter_of(communicator);
  const int wanted_group = run.executor != nullptr ? run.executor->particle_group() : 0;
  const std::array<double, 4> mine = {computes ? assignment.rate : 0.0, computes ? 1.0 : 0.0,
                                      assignment.role == RankAssignment::Role::worker ? 1.0 : 0.0,
                                      static_cast<double>(wanted_group)};
  const std::vector<double> all = allgather(communicator, mine);
  std::vector<double> rates;
  double workers = 0.0, rate_of_workers = 0.0;
  int group = 0;  // the smallest group size that a rank wants
  assignment.total_rate = 0.0;
  for (std::size_t at = 0; at < all.size(); at += mine.size()) {
    rates.push_back(all[at]);
    assignment.total_rate += all[at];
    workers += all[at + 2];
    rate_of_workers += all[at + 2] * all[at];
    const int wanted = static_cast<int>(all[at + 3]);
    if (wanted > 0) group = group > 0 ? std::min(group, wanted) : wanted;
  }
  if (workers == 0.0 && computes) assignment.role = RankAssignment::Role::worker;
  assignment.worker_rate = workers > 0.0 ? rate_of_workers / workers : 0.0;
  run.numbers_of_rest.clear();
  run.progress_before = {0, run.plan.tasks.size(), 0.0, run.plan.total_operations};
  for (const std::size_t task : grouped_order(run.plan.tasks, run.plan.tiles, group)) {
    if (!finished[task]) {
      run.numbers_of_rest.push_back(task);
      continue;
    }
    ++run.progress_before.tasks_done;
    run.progress_before.operations_done += run.plan.operations[task];
  }
  run.rest = part_of(run.plan, run.numbers_of_rest);
  run.batches.clear();
  run.next = 0;
  run.no_more_chunks = false;
  run.scheduler.emplace(communicator, make_work_chunks(run.rest, ranks_to_divide_for(rates)), assignment, begin);
}

/// Executes work chunks until none are left for this rank.
void execute_chunks(TaskRun& run, RankAssignment& assignment) {
  try {
    while (run.executor != nullptr && !work_on_all_threads(run)) {
      // When the other ranks have finished, the tasks that this rank has claimed but not executed are redistributed.
      assignment.continue_on_cores();
      run.batches.clear();
      run.next = 0;
      continue_on_cores(run);
      run.scheduler->continue_on_cores();
      run.no_more_chunks = false;
    }
    store_last_sums(run);
    if (run.stopped() && run.executor != nullptr && !run.everything_done()) throw_interrupted(run);
  } catch (...) {
    run.scheduler->drain();
    throw;
  }
}

/// Replaces the numbers by their sums over all ranks. Collective. A double is exact up to 2^53, so the halves of the
/// numbers are added: the lower 32 bits, which are not negative, and the rest.
/// `halves`: scratch, two numbers for each.
void add_integers_of_ranks(Communicator& communicator, std::span<std::int64_t> numbers, std::span<double> halves) {
  constexpr std::int64_t half = std::int64_t{1} << 32;
  for (std::size_t n = 0; n < numbers.size(); ++n) {
    halves[2 * n] = static_cast<double>(numbers[n] & (half - 1));
    halves[2 * n + 1] = static_cast<double>(numbers[n] >> 32);
  }
  communicator.allreduce_sum(halves);
  for (std::size_t n = 0; n < numbers.size(); ++n) {
    numbers[n] = static_cast<std::int64_t>(halves[2 * n]) + half * static_cast<std::int64_t>(halves[2 * n + 1]);
  }
}

/// Does the same with an array of `size` elements, part by part. Some ranks may have it on a device. If one of these
/// fails, all ranks throw at the end, because until then the others wait for this rank.
void add_array_of_ranks(Communicator& communicator, std::size_t size, CompleteSums& array) {
  constexpr std::size_t at_once = std::size_t{1} << 20;
  std::exception_ptr failure;
  const auto unless_failed = [&](const auto& copy) {
    try {
      if (!failure) copy();
    } catch (...) {
      failure = std::current_exception();
    }
  };
  std::vector<std::int64_t> numbers;
  std::vector<double> halves;
  run_collectively(&communicator, [&] {
    numbers.resize(std::min(at_once, size));
    halves.resize(2 * numbers.size());
  });
  for (std::size_t first = 0; first < size; first += at_once) {
    const auto part = std::span(numbers).first(std::min(at_once, size - first));
    unless_failed([&] { array.get(first, part); });
    add_integers_of_ranks(communicator, part, std::span(halves).first(2 * part.size()));
    unless_failed([&] { array.set(first, part); });
  }
  propagate_failure(communicator, failure);
}

/// Gathers the work of all ranks, and sums the energies and the kinds of workers over ranks. Both are zero in this rank
/// for tasks that other ranks have executed. Collective. `seconds`: duration of the run.
void add_outcomes(TaskRun& run, double seconds) {
  Communicator& communicator = *run.settings.communicator;
  RankWork& mine = run.mine;
  mine.seconds_idle = std::max(0.0, seconds - mine.seconds_busy);
  const std::array<double, 8> row = {static_cast<double>(mine.kind),
                                     mine.computed ? 1.0 : 0.0,
                                     mine.device_failed ? 1.0 : 0.0,
                                     static_cast<double>(mine.tasks),
                                     mine.operations,
                                     mine.seconds_busy,
                                     mine.seconds_idle,
                                     run.outcome.operations};
  const std::vector<double> rows = allgather(communicator, row);
  run.outcome.operations = 0.0;
  bool warned = false;
  for (std::size_t at = 0; at < rows.size(); at += row.size()) {
    const double* n = rows.data() + at;
    run.outcome.ranks.push_back({static_cast<WorkerKind>(static_cast<int>(n[0])), n[1] != 0.0, n[2] != 0.0,
                                 static_cast<std::size_t>(n[3]), n[4], n[5], n[6]});
    run.outcome.operations += n[7];
    warned = warned || n[2] != 0.0;
  }
  if (warned || run.stored) {
    constexpr std::size_t longest = 1000;
    for (const std::string& warning : allgather(communicator, run.warning, longest)) {
      if (!warning.empty()) run.outcome.warnings.push_back(warning);
    }
  }
  std::vector<double> numbers;
  numbers.reserve(TaskEnergy::numbers * run.outcome.energies.size() + run.outcome.kinds.size());
  for (const TaskEnergy& e : run.outcome.energies) {
    const auto more = e.as_numbers();
    numbers.insert(numbers.end(), more.begin(), more.end());
  }
  for (const WorkerKind kind : run.outcome.kinds) numbers.push_back(static_cast<double>(kind));
  communicator.allreduce_sum(numbers);
  const double* number = numbers.data();
  for (TaskEnergy& e : run.outcome.energies) {
    e = TaskEnergy::of_numbers(number);
    number += TaskEnergy::numbers;
  }
  for (WorkerKind& kind : run.outcome.kinds) kind = static_cast<WorkerKind>(static_cast<int>(*number++));
  run_collectively(&communicator, [&] { complete_sums(run); });
  for (std::size_t n = 0; n < run.outcome.sums.size(); ++n) {
    const std::size_t size = run.results.sums[n].size;
    if (n == 0 && run.outcome.first_array != nullptr) {
      add_array_of_ranks(communicator, size, *run.outcome.first_array);
      continue;
    }
    HostSums on_host(std::move(run.outcome.sums[n]));
    add_array_of_ranks(communicator, size, on_host);
    run.outcome.sums[n] = on_host.take();
  }
}

/// Sets finished[task] for each task that any rank has done. Collective.
void agree_on_finished(Communicator& communicator, const std::vector<bool>& done, std::vector<bool>& finished) {
  std::vector<double> flags(done.begin(), done.end());
  communicator.allreduce_sum(flags);
  for (std::size_t task = 0; task < flags.size(); ++task) {
    if (flags[task] != 0.0) finished[task] = true;
  }
}

}

/// Distributes tasks in rounds until all are done. The second and later rounds redistribute the unfinished tasks of
/// ranks whose devices have failed.
void run_distributed(TaskRun& run, std::vector<bool> finished) {
  Communicator& communicator = *run.settings.communicator;
  RankAssignment assignment = run.settings.assignment;
  const auto in_journal = static_cast<double>(run.progress.tasks_done), tasks = static_cast<double>(finished.size());
  const double start = wall_seconds();
  run_collectively(&communicator, [&] {
    if (run.executor != nullptr || run.settings.failed_device.empty()) return;
    assignment.continue_on_cores();
    continue_on_cores(run);
  });
  if (run.executor == nullptr) assignment.role = RankAssignment::Role::idle;
  // The whole GPU works on one task, so the threads of the rank do not count.
  if (run.executor != nullptr && run.executor->workers() > 0) assignment.threads = 1;
  run.mine.computed = run.executor != nullptr;
  double done_before = in_journal, failed_before = -1.0;
  while (true) {
    begin_round(run, assignment, finished);
    run_collectively(&communicator, [&] { execute_chunks(run, assignment); });
    std::array<double, 2> sums = {static_cast<double>(run.mine.tasks), run.on_cores ? 1.0 : 0.0};
    communicator.allreduce_sum(sums);
    const double done = in_journal + sums[0];
    if (done == tasks) break;
    // In each round a rank finishes a task or switches to cores after its devices have failed.
    if (done > tasks || (done == done_before && sums[1] == failed_before)) {
      throw Error(fmt::format("The ranks computed {} of {} tasks; their shared counter does not work.", done, tasks));
    }
    done_before = done;
    failed_before = sums[1];
    agree_on_finished(communicator, run.done, finished);
  }
  add_outcomes(run, wall_seconds() - start);
}

}
