#include "cxx/parallel/units.hpp"

#include <algorithm>
#include <cmath>

#include "cxx/parallel/team.hpp"

namespace trifuse {

std::vector<Unit> make_units(const Plan& plan, int ranks) {
  constexpr double units_per_rank = 100.0, most_units = 4e6;
  // Alone nothing has to be shared, and an executor sees the whole plan.
  const double enough =
      ranks > 1 ? plan.total_operations / std::min(units_per_rank * ranks, most_units) : 2.0 * plan.total_operations;
  std::vector<Unit> units;
  for (std::size_t t = 0; t < plan.tasks.size(); ++t) {
    const double operations = plan.operations[t];
    // A large task is not put behind small ones.
    if (units.empty() || units.back().operations + 0.5 * operations > enough) units.push_back({t, t, 0.0});
    units.back().last = t + 1;
    units.back().operations += operations;
  }
  const auto magnitude = [](const Unit& unit) { return unit.operations > 0.0 ? std::ilogb(unit.operations) : 0; };
  std::stable_sort(units.begin(), units.end(),
                   [&](const Unit& x, const Unit& y) { return magnitude(x) > magnitude(y); });
  return units;
}

UnitClaims::UnitClaims(Team& team, std::vector<Unit> units, const TeamShare& share)
    : team_(team), units_(std::move(units)), operations_before_{0.0}, tasks_before_{0}, share_(share) {
  for (const Unit& unit : units_) {
    operations_before_.push_back(operations_before_.back() + unit.operations);
    tasks_before_.push_back(tasks_before_.back() + unit.last - unit.first);
  }
}

std::optional<Unit> UnitClaims::next() {
  switch (share_.role) {
    case TeamShare::Role::waiter:
      break;
    case TeamShare::Role::worker:
      return claim_front();
    case TeamShare::Role::helper: {
      // Looked at first: a rank that would be the last to end must leave the unit to the others.
      if (!worth_it(taken(team_.fetch_add(0, 0)))) break;
      const Taken before = taken(team_.fetch_add(0, from_back));
      if (!all_taken(before)) return units_[units_.size() - 1 - before.back];
      break;
    }
  }
  return std::nullopt;
}

std::optional<Unit> UnitClaims::claim_front() {
  const Taken before = taken(team_.fetch_add(0, from_front));
  return all_taken(before) ? std::nullopt : std::optional(units_[before.front]);
}

void UnitClaims::drain() {
  // One by one: a large amount from each of several ranks would run over into the other half.
  while (claim_front()) {
  }
}

UnitClaims::Taken UnitClaims::taken(std::int64_t counter) {
  const Taken taken{static_cast<std::size_t>(counter % from_back), static_cast<std::size_t>(counter / from_back)};
  // Claims that came too late count nothing.
  const std::size_t front = std::min(taken.front, units_.size()),
                    back = std::max(front, units_.size() - std::min(units_.size(), taken.back));
  tasks_given_ = tasks_before_[front] + tasks_before_.back() - tasks_before_[back];
  operations_given_ = operations_before_[front] + operations_before_.back() - operations_before_[back];
  return taken;
}

bool UnitClaims::worth_it(const Taken& taken) const {
  if (all_taken(taken)) return false;
  const std::size_t end = units_.size() - taken.back;
  const double left = operations_before_[end] - operations_before_[taken.front];
  return units_[end - 1].operations / share_.rate < left / share_.team_rate;
}

}  // namespace trifuse
