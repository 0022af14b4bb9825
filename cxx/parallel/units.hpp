#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "cxx/base/shared_array.hpp"
#include "cxx/plan/plan.hpp"

namespace trifuse {

class Communicator;

/// Tasks [first, last) of a plan that one rank does together. They follow each other in the plan, so that they share
/// operands.
struct Unit {
  std::size_t first, last;
  double operations;
};

/// Cuts a plan for so many ranks: each unit is a 32nd of a rank's even share of what is then left, so that most of
/// the work goes in long runs of tasks that share operands, down to a 400th of a rank's even share of everything, so
/// that the ranks end together. A unit near its size ends where the particles of the tasks change. It depends on the
/// plan and the number of ranks alone, so all ranks find the same. Large units come first, so that small ones fill the
/// end; units whose operations have the same power of two stay in the order of the plan.
std::vector<Unit> make_units(const Plan& plan, int ranks);

/// What a rank of a team does in a run.
struct TeamShare {
  enum class Role {
    worker,  ///< takes units from the front, several at a time
    helper,  ///< slower than the workers by far: takes single units from the back, where they are small
    waiter,  ///< computes nothing, and is there where all ranks must be
  };
  Role role = Role::worker;
  double rate = 1.0;              ///< of this rank, operations per second
  double team_rate = 1.0;         ///< of all ranks that compute
  int threads = 0;                ///< at most so many; 0: as many as was planned
  bool threads_together = false;  ///< cores: all threads on one task, and not each on its own
  double rate_on_cores = 0.0;     ///< of this rank if its GPU fails and it goes on with cores; 0: not known
  double worker_rate = 0.0;       ///< of a worker, on average; 0: not known
  double memory = 0.0;  ///< bytes of the host for operands and scratch, where operands are shared; 0: not limited
  OperandShare operands = {};  ///< what it has of shared ones
  int reading_threads = 0;     ///< to read that with, if not `threads`

  /// This rank goes on with cores, as a helper of those that are faster.
  void go_on_with_cores() {
    role = Role::helper;
    threads_together = true;
    if (rate_on_cores > 0.0) rate = rate_on_cores;
  }
};

/// For how many ranks a plan is to be cut so that a unit from its end takes the slowest of these rates less than 1 % of
/// the job.
int ranks_to_cut_for(const std::vector<double>& rates);

/// A list of units, and how much of it lies before each. Runs and simulations with many ranks share one.
class UnitLedger {
 public:
  explicit UnitLedger(std::vector<Unit> units);

  std::size_t size() const { return units_.size(); }
  const std::vector<Unit>& units() const { return units_; }
  const Unit& operator[](std::size_t n) const { return units_[n]; }
  /// Of units [begin, end).
  double operations(std::size_t begin, std::size_t end) const {
    return operations_before_[end] - operations_before_[begin];
  }
  std::size_t tasks(std::size_t begin, std::size_t end) const { return tasks_before_[end] - tasks_before_[begin]; }

 private:
  std::vector<Unit> units_;
  std::vector<double> operations_before_;  ///< [units + 1]
  std::vector<std::size_t> tasks_before_;  ///< [units + 1]
};

/// Gives each unit to exactly one rank. For one thread at a time.
class UnitClaims {
 public:
  /// `begin`: what `counter_of` gave to all ranks after the last claim before these.
  UnitClaims(Communicator& communicator, std::vector<Unit> units, const TeamShare& share, std::int64_t begin = 0);
  /// With a ledger that several share.
  UnitClaims(Communicator& communicator, std::shared_ptr<const UnitLedger> ledger, const TeamShare& share,
             std::int64_t begin = 0);

  /// What the counter shows now: where the next claims begin, when no claim is under way.
  static std::int64_t counter_of(Communicator& communicator);

  /// The next units for this rank, which follow each other in the list; none where all have been taken, or where the
  /// others will be done before this rank could be. A worker gets a 32nd of its share of what is left, or a single
  /// unit where that is more; a helper a single unit.
  std::vector<Unit> next();
  /// The part of the plan that had been given out, to any rank, when this one asked last: tasks and operations.
  std::size_t tasks_given() const { return tasks_given_; }
  double operations_given() const { return operations_given_; }

  /// This rank goes on with cores, as a helper of those that are faster.
  void goes_on_with_cores();
  /// What this rank has been seen to do, operations per second; from then on that decides, not the estimate.
  void measured(double rate) { measured_rate_ = rate; }

  /// Leaves nothing to anybody: after a failure nobody needs to go on.
  void drain();
  /// Whether a rank has drained them. Asks the team about every second only.
  bool drained();

 private:
  // What is taken from the front and from the back are the two halves of one counter. Each claim changes it in one
  // step, and holds what had not been taken before; a claim that comes too late changes nothing any more. The front
  // half has room for all units, for late claims, and for the mark of ranks that drained them.
  static constexpr std::int64_t from_front = 1, from_back = std::int64_t{1} << 30, mark = std::int64_t{1} << 24;
  struct Taken {
    std::size_t front, back;
  };
  Taken taken(std::int64_t counter);
  std::vector<Unit> claim_front();
  std::vector<Unit> claim_back();
  std::size_t group_from(std::size_t front, std::size_t end) const;
  bool all_taken(const Taken& taken) const { return taken.front + taken.back >= ledger_->size(); }
  /// Whether this rank can do the unit at its end of the list before the others have done the rest.
  bool worth_it(const Taken& taken) const;
  /// The same for a worker, of whom there must be some until the end: whether it is so slow that another one, which has
  /// something to do, would still be done with the unit before.
  bool too_slow();
  double seconds_of(const Unit& unit) const;  ///< that this rank needs
  /// Operations per second of all: what they have taken since this rank began, or else as estimated.
  double team_rate() const;

  Communicator& communicator_;
  std::shared_ptr<const UnitLedger> ledger_;
  std::size_t tasks_given_ = 0;
  double operations_given_ = 0.0;
  TeamShare share_;
  std::int64_t begin_;
  std::optional<double> measured_rate_;
  double first_look_ = 0.0, given_at_first_look_ = 0.0, last_look_ = 0.0;
  Taken seen_{0, 0};
  bool drained_ = false;
};

}  // namespace trifuse
