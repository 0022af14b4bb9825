#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
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

/// Cuts a plan for so many ranks: some 100 units for each of them, where there are so many tasks. It depends on nothing
/// else, so all ranks find the same. Large units come first, so that small ones fill the end; units whose operations
/// have the same power of two stay in the order of the plan.
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
  double memory = 0.0;     ///< bytes of the host for operands and scratch, where operands are shared; 0: not limited
};

/// Gives each unit to exactly one rank. For one thread at a time.
class UnitClaims {
 public:
  UnitClaims(Team& team, std::vector<Unit> units, const TeamShare& share);

  /// The next unit for this rank; none where all have been taken, or where the others will be done before this rank
  /// could be.
  std::optional<Unit> next();
  /// The part of the plan that had been given out, to any rank, when this one asked last: tasks and operations.
  std::size_t tasks_given() const { return tasks_given_; }
  double operations_given() const { return operations_given_; }
  /// Leaves nothing to anybody: after a failure nobody needs to go on.
  void drain();

 private:
  // What is taken from the front and from the back are the two halves of one counter. Each claim changes it in one
  // step, and holds if less than everything was taken before; a claim that comes too late changes nothing any more. The
  // front half has room for all units and for one late claim of each thread of each rank.
  static constexpr std::int64_t from_front = 1, from_back = std::int64_t{1} << 24;
  struct Taken {
    std::size_t front, back;
  };
  Taken taken(std::int64_t counter);
  std::optional<Unit> claim_front();
  bool all_taken(const Taken& taken) const { return taken.front + taken.back >= units_.size(); }
  bool worth_it(const Taken& taken) const;

  Team& team_;
  std::vector<Unit> units_;
  std::vector<double> operations_before_;  ///< [units + 1]
  std::vector<std::size_t> tasks_before_;  ///< [units + 1]
  std::size_t tasks_given_ = 0;
  double operations_given_ = 0.0;
  TeamShare share_;
};

}  // namespace trifuse
