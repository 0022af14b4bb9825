#include "cxx/parallel/dynamic_scheduler.hpp"

#include <algorithm>
#include <cmath>

#include "cxx/base/clock.hpp"
#include "cxx/base/communicator.hpp"

namespace trifuse {

std::vector<WorkChunk> make_work_chunks(const Plan& plan, int ranks) {
  constexpr double part_of_share = 1.0 / 32, smallest_part = 1.0 / 400, max_chunks = 4e6, nearly = 0.7;
  // A single rank gets one chunk, so its executor sees the whole plan.
  if (ranks <= 1) {
    if (plan.tasks.empty()) return {};
    return {{0, plan.tasks.size(), plan.total_operations}};
  }
  const double smallest = plan.total_operations * std::max(smallest_part / ranks, 1.0 / max_chunks);
  double left = plan.total_operations, enough = 0.0;
  std::vector<WorkChunk> chunks;
  for (std::size_t t = 0; t < plan.tasks.size(); ++t) {
    const double operations = plan.operations[t];
    // A large task begins a new chunk.
    const bool full = chunks.empty() || chunks.back().operations + 0.5 * operations > enough;
    if (full ||
        (chunks.back().operations > nearly * enough && plan.tasks[t].particles != plan.tasks[t - 1].particles)) {
      enough = std::max(part_of_share * left / ranks, smallest);
      chunks.push_back({t, t, 0.0});
    }
    chunks.back().last = t + 1;
    chunks.back().operations += operations;
    left -= operations;
  }
  const auto magnitude = [](const WorkChunk& chunk) {
    return chunk.operations > 0.0 ? std::ilogb(chunk.operations) : 0;
  };
  std::stable_sort(chunks.begin(), chunks.end(),
                   [&](const WorkChunk& x, const WorkChunk& y) { return magnitude(x) > magnitude(y); });
  return chunks;
}

int ranks_to_divide_for(const std::vector<double>& rates) {
  // Dividing for this part of (all operations per second) / (those of the slowest rank) keeps the last chunks short on
  // every rank.
  constexpr double shares_of_slowest = 0.5, most = 2000.0;
  double all = 0.0, slowest = 0.0;
  for (const double rate : rates) {
    if (rate <= 0.0) continue;
    all += rate;
    slowest = slowest > 0.0 ? std::min(slowest, rate) : rate;
  }
  const auto ranks = static_cast<int>(rates.size());
  if (slowest <= 0.0) return ranks;
  return std::max(ranks, static_cast<int>(std::min(most, std::ceil(shares_of_slowest * all / slowest))));
}

WorkChunkList::WorkChunkList(std::vector<WorkChunk> chunks)
    : chunks_(std::move(chunks)), operations_before_{0.0}, tasks_before_{0} {
  for (const WorkChunk& chunk : chunks_) {
    operations_before_.push_back(operations_before_.back() + chunk.operations);
    tasks_before_.push_back(tasks_before_.back() + chunk.last - chunk.first);
  }
}

DynamicScheduler::DynamicScheduler(Communicator& communicator, std::vector<WorkChunk> chunks,
                                   const RankAssignment& assignment, std::int64_t begin)
    : DynamicScheduler(communicator, std::make_shared<const WorkChunkList>(std::move(chunks)), assignment, begin) {}

DynamicScheduler::DynamicScheduler(Communicator& communicator, std::shared_ptr<const WorkChunkList> chunk_list,
                                   const RankAssignment& assignment, std::int64_t begin)
    : communicator_(communicator),
      chunk_list_(std::move(chunk_list)),
      assignment_(assignment),
      begin_(begin),
      last_read_(wall_seconds()) {}

std::int64_t DynamicScheduler::counter_of(Communicator& communicator) {
  return communicator.fetch_add(0, 0);
}

std::vector<WorkChunk> DynamicScheduler::next() {
  if (drained_) return {};
  switch (assignment_.role) {
    case RankAssignment::Role::idle:
      return {};
    case RankAssignment::Role::worker:
      return claim_front();
    case RankAssignment::Role::cpu_worker:
      break;
  }
  return claim_back();
}

std::vector<WorkChunk> DynamicScheduler::claim_front() {
  if (too_slow()) return {};
  const std::size_t wanted = group_from(seen_.front, chunk_list_->size() - std::min(chunk_list_->size(), seen_.back));
  const Taken before = taken(communicator_.fetch_add(0, static_cast<std::int64_t>(wanted) * from_front));
  if (all_taken(before)) return {};
  const std::size_t end = std::min(before.front + wanted, chunk_list_->size() - before.back);
  // The next claim will probably begin here.
  seen_.front = end;
  const auto at = [&](std::size_t n) { return chunk_list_->chunks().begin() + static_cast<std::ptrdiff_t>(n); };
  return {at(before.front), at(end)};
}

std::vector<WorkChunk> DynamicScheduler::claim_back() {
  // Reads the counter before it claims: a rank that would finish last must leave the chunk to the other ranks.
  if (!worth_it(taken(counter_of(communicator_)))) return {};
  const Taken before = taken(communicator_.fetch_add(0, from_back));
  if (all_taken(before)) return {};
  return {(*chunk_list_)[chunk_list_->size() - 1 - before.back]};
}

std::size_t DynamicScheduler::group_from(std::size_t front, std::size_t end) const {
  if (front >= end) return 1;
  // Chunks are made for a rank of average speed. A faster rank claims several.
  constexpr double part_of_rest = 1.0 / 32;
  const double wanted = part_of_rest * chunk_list_->operations(front, end) * assignment_.rate / assignment_.total_rate;
  std::size_t last = front + 1;
  while (last < end && chunk_list_->operations(front, last + 1) <= wanted) ++last;
  return last - front;
}

void DynamicScheduler::continue_on_cores() {
  assignment_.continue_on_cores();
  measured_rate_.reset();
}

void DynamicScheduler::drain() {
  static_cast<void>(taken(counter_of(communicator_)));
  // The marks of 64 ranks that fail at the same moment add up to a claim from the back and no mark. So each rank reads
  // the counter after it has added its mark. The last rank then sees no mark and adds another.
  constexpr int most_marks = 100;  // a broken counter never shows a mark
  for (int marks = 0; !drained_ && marks < most_marks; ++marks) {
    static_cast<void>(communicator_.fetch_add(0, mark));
    static_cast<void>(taken(counter_of(communicator_)));
  }
  drained_ = true;
}

bool DynamicScheduler::drained() {
  constexpr double seconds_between_reads = 1.0;
  if (!drained_ && wall_seconds() - last_read_ > seconds_between_reads)
    static_cast<void>(taken(counter_of(communicator_)));
  return drained_;
}

DynamicScheduler::Taken DynamicScheduler::taken(std::int64_t counter) {
  const std::int64_t since = counter - begin_;
  const Taken taken{static_cast<std::size_t>(since % from_back), static_cast<std::size_t>(since / from_back)};
  if (since % from_back >= mark) drained_ = true;
  // Claims after the last chunk do not count.
  const std::size_t front = std::min(taken.front, chunk_list_->size()),
                    back = std::max(front, chunk_list_->size() - std::min(chunk_list_->size(), taken.back));
  tasks_assigned_ = chunk_list_->tasks(0, front) + chunk_list_->tasks(back, chunk_list_->size());
  operations_assigned_ = chunk_list_->operations(0, front) + chunk_list_->operations(back, chunk_list_->size());
  seen_ = {front, chunk_list_->size() - back};
  last_read_ = wall_seconds();
  if (first_read_ == 0.0) {
    first_read_ = last_read_;
    assigned_at_first_read_ = operations_assigned_;
  }
  return taken;
}

double DynamicScheduler::total_rate() const {
  // Chunks in progress count as done. So the rate is slightly too high, which is the safe direction.
  const double watched = last_read_ - first_read_, given = operations_assigned_ - assigned_at_first_read_;
  return measured_rate_ && watched > 0.0 && given > 0.0 ? given / watched : assignment_.total_rate;
}

double DynamicScheduler::seconds_of(const WorkChunk& chunk) const {
  const double seconds = chunk.operations / measured_rate_.value_or(assignment_.rate);
  if (assignment_.threads_share_task) return seconds;
  // Each task is executed by one thread.
  const auto threads = static_cast<double>(std::max(1, assignment_.threads)),
             tasks = static_cast<double>(chunk.last - chunk.first);
  return seconds * threads / std::min(threads, tasks);
}

bool DynamicScheduler::worth_it(const Taken& taken) const {
  if (all_taken(taken)) return false;
  // Estimates come from a matrix product and a data sheet. A measured rate has a smaller error.
  const double doubt = measured_rate_ ? 1.25 : 2.0;
  const std::size_t end = chunk_list_->size() - taken.back;
  const double left = chunk_list_->operations(taken.front, end);
  return doubt * seconds_of((*chunk_list_)[end - 1]) < left / total_rate();
}

bool DynamicScheduler::too_slow() {
  constexpr double doubt = 1.25;
  if (!measured_rate_ || assignment_.worker_rate <= 0.0) return false;
  const auto rate_of_other_workers = [&] { return assignment_.worker_rate * total_rate() / assignment_.total_rate; };
  // The first decision uses the last known values, so that a fast rank need not read the counter.
  if (doubt * *measured_rate_ > rate_of_other_workers()) return false;
  const Taken now = taken(counter_of(communicator_));
  if (all_taken(now)) return false;
  const double others = rate_of_other_workers();
  if (doubt * *measured_rate_ > others) return false;
  const std::size_t end = chunk_list_->size() - now.back;
  const double left = chunk_list_->operations(now.front, end);
  const WorkChunk& chunk = (*chunk_list_)[now.front];
  return doubt * seconds_of(chunk) > left / total_rate() + chunk.operations / others;
}

}
