#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "cxx/parallel/rank_assignment.hpp"
#include "cxx/plan/plan.hpp"

#pragma GCC visibility push(default)

namespace trifuse {

class Communicator;

/// A work chunk: the tasks [first, last) of a plan, which one rank executes. Consecutive tasks share operands.
struct WorkChunk {
  std::size_t first, last;  ///< numbers of tasks in the plan
  double operations;        ///< floating-point operations of these tasks
};

/// Divides a plan into chunks. Each chunk is about 1/32 of a rank's even share of the operations that are left after
/// the chunks before it. So most of the work consists of long sequences of tasks that share operands. No chunk is
/// planned smaller than 1/400 of a rank's even share of all operations, or than 1/4000000 of all operations. Small
/// chunks at the end let the ranks finish together. A chunk that has 0.7 of its planned size ends early if the particle
/// tiles of the next task differ.
///
/// Large chunks come first, small chunks last. Chunks stay in the order of the plan if the binary logarithms of their
/// operations have the same integer part. The chunks depend only on the plan and on `ranks`, so all ranks get the same
/// list. One rank gets a single chunk.
///
/// `plan`: the tasks. `ranks`: number of ranks, see `ranks_to_divide_for`.
std::vector<WorkChunk> make_work_chunks(const Plan& plan, int ranks);

/// Returns the number of ranks for which `make_work_chunks` should divide a plan. With this number, the slowest rank
/// needs less than 1 % of the duration of the job for a chunk at the end of the list, if the sizes of tasks allow it.
/// The result is at least the number of ranks, and slow ranks raise it to at most 2000.
///
/// `rates`: rates[rank], operations per second; 0 for a rank that computes nothing.
int ranks_to_divide_for(const std::vector<double>& rates);

/// A list of chunks with prefix sums of their operations and tasks. In a simulation many schedulers share one list.
class WorkChunkList {
 public:
  explicit WorkChunkList(std::vector<WorkChunk> chunks);

  std::size_t size() const { return chunks_.size(); }
  const std::vector<WorkChunk>& chunks() const { return chunks_; }
  const WorkChunk& operator[](std::size_t n) const { return chunks_[n]; }
  /// operations() returns the operations of the chunks [begin, end), tasks() their number of tasks.
  double operations(std::size_t begin, std::size_t end) const {
    return operations_before_[end] - operations_before_[begin];
  }
  std::size_t tasks(std::size_t begin, std::size_t end) const { return tasks_before_[end] - tasks_before_[begin]; }

 private:
  std::vector<WorkChunk> chunks_;
  std::vector<double> operations_before_;  ///< [chunk], chunks + 1 elements
  std::vector<std::size_t> tasks_before_;  ///< [chunk], chunks + 1 elements
};

/// The dynamic schedule: assigns each chunk to exactly one rank by a shared counter. One thread at a time may use it.
class DynamicScheduler {
 public:
  /// `communicator` must outlive this object. `chunks`: the list, the same on all ranks. `assignment`: role and speeds
  /// of this rank. `begin`: value of `counter_of` after the last claim of an earlier scheduler, and before the first
  /// claim of this scheduler, the same on all ranks.
  DynamicScheduler(Communicator& communicator, std::vector<WorkChunk> chunks, const RankAssignment& assignment,
                   std::int64_t begin = 0);
  /// Makes a scheduler of a list that several schedulers share.
  DynamicScheduler(Communicator& communicator, std::shared_ptr<const WorkChunkList> chunk_list,
                   const RankAssignment& assignment, std::int64_t begin = 0);

  /// Returns the value of the shared counter. If no claim is in progress, this is the `begin` of the next scheduler.
  static std::int64_t counter_of(Communicator& communicator);

  /// Claims the next chunks for this rank and returns them; they are consecutive in the list. A worker gets 1/32 of its
  /// share of the remaining operations, but at least one chunk. A CPU worker gets one chunk. An idle rank gets none.
  /// The result is also empty if all chunks are assigned, or if the other ranks would finish earlier without this rank.
  std::vector<WorkChunk> next();
  /// tasks_assigned() and operations_assigned() return what had been assigned to all ranks together when this rank read
  /// the counter last.
  std::size_t tasks_assigned() const { return tasks_assigned_; }
  double operations_assigned() const { return operations_assigned_; }

  /// Turns this rank into a CPU worker after its devices have failed.
  void continue_on_cores();
  /// Sets the measured speed of this rank, operations per second. It replaces the estimate in all later decisions.
  void measured(double rate) { measured_rate_ = rate; }

  /// Makes all ranks stop claiming. Call it after a failure.
  void drain();
  /// Returns true if a rank has called `drain`. Reads the shared counter about once a second at most.
  bool drained();

 private:
  // The counter has two halves: the number of chunks claimed from the front of the list, and the number claimed from
  // its back. Each claim changes the counter in one atomic step and gets its earlier value. A claim after the last
  // chunk has no effect. The front half has room for all chunks, for late claims and for the marks of ranks that called
  // `drain`.
  static constexpr std::int64_t from_front = 1, from_back = std::int64_t{1} << 30, mark = std::int64_t{1} << 24;
  /// Numbers of chunks claimed from the front and from the back.
  struct Taken {
    std::size_t front, back;
  };
  /// Decodes a value of the counter. Notes what has been assigned, and whether a rank has called `drain`.
  Taken taken(std::int64_t counter);
  std::vector<WorkChunk> claim_front();
  std::vector<WorkChunk> claim_back();
  /// Returns the number of chunks that a worker claims at once if the chunks [front, end) are left.
  std::size_t group_from(std::size_t front, std::size_t end) const;
  bool all_taken(const Taken& taken) const { return taken.front + taken.back >= chunk_list_->size(); }
  /// Returns true if this rank would finish the last free chunk before the other ranks finish the rest, with a safety
  /// factor.
  bool worth_it(const Taken& taken) const;
  /// Returns true if this worker is so slow that it should leave the first free chunk to the other workers: one of them
  /// would finish this chunk earlier, even if it began the chunk after all other remaining work.
  bool too_slow();
  double seconds_of(const WorkChunk& chunk) const;  ///< seconds that this rank needs for a chunk
  /// Returns the operations per second of all ranks. If the speed of this rank has been measured, this is the rate of
  /// assignment since this rank began, else the estimate.
  double total_rate() const;

  Communicator& communicator_;
  std::shared_ptr<const WorkChunkList> chunk_list_;
  std::size_t tasks_assigned_ = 0;
  double operations_assigned_ = 0.0;
  RankAssignment assignment_;
  std::int64_t begin_;
  std::optional<double> measured_rate_;
  double first_read_ = 0.0, assigned_at_first_read_ = 0.0, last_read_ = 0.0;
  Taken seen_{0, 0};
  bool drained_ = false;
};

}

#pragma GCC visibility pop
