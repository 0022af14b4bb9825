#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "cxx/plan/plan.hpp"

namespace trifuse {

class Team;

/// Tasks [first, last) of a plan that one rank does together. They follow each other in the plan, so that they share
/// operands.
struct Unit {
  std::size_t first, last;
  double operations;
};

/// Cuts a plan for so many ranks: each unit is an eighth of a rank's even share of what is then left, so that most of
/// the work goes in long runs of tasks that share operands, down to a 400th of a rank's even share of everything, so
/// that the ranks end together. A unit near its size ends where the particles of the tasks change. It depends on the
/// plan and the number of ranks alone, so all ranks find the same. Large units come first, so that small ones fill the
/// end; units whose operations have the same power of two stay in the order of the plan.
std::vector<Unit> make_units(const Plan& plan, int ranks);

/// What a rank of a team does in a run.
struct TeamShare {
  enum class Role {
    worker,  ///< takes units from the front
    helper,  ///< slower than the workers by far: takes single units from the back, where they are small
    waiter,  ///< computes nothing, and is there where all ranks must be
  };
  Role role = Role::worker;
  double rate = 1.0;       ///< of this rank, operations per second
  double team_rate = 1.0;  ///< of all ranks that compute
  int threads = 0;         ///< at most so many; 0: as many as was planned
};

/// What a counter says about a list of units. What is taken from the front and from the back are the two halves of the
/// counter. Each claim changes it in one step, and holds if less than everything was taken before; a claim that comes
/// too late changes nothing any more. The front half has room for all units and for one late claim of each thread of
/// each rank.
class UnitLedger {
 public:
  static constexpr std::int64_t from_front = 1, from_back = std::int64_t{1} << 24;

  explicit UnitLedger(std::vector<Unit> units);

  struct Taken {
    std::size_t front, back;
  };
  static Taken taken(std::int64_t counter);
  bool all_taken(const Taken& taken) const { return taken.front + taken.back >= units_.size(); }
  /// What a claim gets that found less than everything taken.
  const Unit& at_front(const Taken& before) const { return units_[before.front]; }
  const Unit& at_back(const Taken& before) const { return units_[units_.size() - 1 - before.back]; }
  /// Whether a helper would be done with the next unit from the back before the others are done with all.
  bool worth_it(const Taken& taken, const TeamShare& share) const;

  struct Given {
    std::size_t tasks;
    double operations;
  };
  Given given(const Taken& taken) const;
  std::span<const Unit> units() const { return units_; }

 private:
  std::vector<Unit> units_;
  std::vector<double> operations_before_;  ///< [units + 1]
  std::vector<std::size_t> tasks_before_;  ///< [units + 1]
};

/// Gives each unit to exactly one rank. For one thread at a time.
class UnitClaims {
 public:
  UnitClaims(Team& team, std::vector<Unit> units, const TeamShare& share);
  /// With a ledger that several share.
  UnitClaims(Team& team, std::shared_ptr<const UnitLedger> ledger, const TeamShare& share);

  /// The next unit for this rank; none where all have been taken, or where the others will be done before this rank
  /// could be.
  std::optional<Unit> next();
  /// The part of the plan that had been given out, to any rank, when this one asked last: tasks and operations.
  std::size_t tasks_given() const { return given_.tasks; }
  double operations_given() const { return given_.operations; }
  /// Leaves nothing to anybody: after a failure nobody needs to go on.
  void drain();

 private:
  UnitLedger::Taken ask(std::int64_t amount);
  std::optional<Unit> claim_front();

  Team& team_;
  std::shared_ptr<const UnitLedger> ledger_;
  UnitLedger::Given given_{0, 0.0};
  TeamShare share_;
};

}  // namespace trifuse
