#include "cxx/parallel/units.hpp"

#include <algorithm>
#include <cmath>

#include "cxx/parallel/team.hpp"

namespace trifuse {

std::vector<Unit> make_units(const Plan& plan, int ranks) {
  constexpr double part_of_share = 1.0 / 8, smallest_part = 1.0 / 400, most_units = 4e6, nearly = 0.7;
  // Alone nothing has to be shared, and an executor sees the whole plan.
  if (ranks <= 1) {
    if (plan.tasks.empty()) return {};
    return {{0, plan.tasks.size(), plan.total_operations}};
  }
  const double smallest = plan.total_operations * std::max(smallest_part / ranks, 1.0 / most_units);
  double left = plan.total_operations, enough = 0.0;
  std::vector<Unit> units;
  for (std::size_t t = 0; t < plan.tasks.size(); ++t) {
    const double operations = plan.operations[t];
    // A large task is not put behind small ones.
    const bool full = units.empty() || units.back().operations + 0.5 * operations > enough;
    if (full || (units.back().operations > nearly * enough && plan.tasks[t].particles != plan.tasks[t - 1].particles)) {
      enough = std::max(part_of_share * left / ranks, smallest);
      units.push_back({t, t, 0.0});
    }
    units.back().last = t + 1;
    units.back().operations += operations;
    left -= operations;
  }
  const auto magnitude = [](const Unit& unit) { return unit.operations > 0.0 ? std::ilogb(unit.operations) : 0; };
  std::stable_sort(units.begin(), units.end(),
                   [&](const Unit& x, const Unit& y) { return magnitude(x) > magnitude(y); });
  return units;
}

UnitLedger::UnitLedger(std::vector<Unit> units) : units_(std::move(units)), operations_before_{0.0}, tasks_before_{0} {
  for (const Unit& unit : units_) {
    operations_before_.push_back(operations_before_.back() + unit.operations);
    tasks_before_.push_back(tasks_before_.back() + unit.last - unit.first);
  }
}

UnitLedger::Taken UnitLedger::taken(std::int64_t counter) {
  return {static_cast<std::size_t>(counter % from_back), static_cast<std::size_t>(counter / from_back)};
}

UnitLedger::Given UnitLedger::given(const Taken& taken) const {
  // Claims that came too late count nothing.
  const std::size_t front = std::min(taken.front, units_.size()),
                    back = std::max(front, units_.size() - std::min(units_.size(), taken.back));
  return {tasks_before_[front] + tasks_before_.back() - tasks_before_[back],
          operations_before_[front] + operations_before_.back() - operations_before_[back]};
}

bool UnitLedger::worth_it(const Taken& taken, const TeamShare& share) const {
  if (all_taken(taken)) return false;
  const std::size_t end = units_.size() - taken.back;
  const double left = operations_before_[end] - operations_before_[taken.front];
  return units_[end - 1].operations / share.rate < left / share.team_rate;
}

UnitClaims::UnitClaims(Team& team, std::vector<Unit> units, const TeamShare& share)
    : UnitClaims(team, std::make_shared<const UnitLedger>(std::move(units)), share) {}

UnitClaims::UnitClaims(Team& team, std::shared_ptr<const UnitLedger> ledger, const TeamShare& share)
    : team_(team), ledger_(std::move(ledger)), share_(share) {}

std::optional<Unit> UnitClaims::next() {
  switch (share_.role) {
    case TeamShare::Role::waiter:
      break;
    case TeamShare::Role::worker:
      return claim_front();
    case TeamShare::Role::helper: {
      // Looked at first: a rank that would be the last to end must leave the unit to the others.
      if (!ledger_->worth_it(ask(0), share_)) break;
      const UnitLedger::Taken before = ask(UnitLedger::from_back);
      if (!ledger_->all_taken(before)) return ledger_->at_back(before);
      break;
    }
  }
  return std::nullopt;
}

std::optional<Unit> UnitClaims::claim_front() {
  const UnitLedger::Taken before = ask(UnitLedger::from_front);
  return ledger_->all_taken(before) ? std::nullopt : std::optional(ledger_->at_front(before));
}

void UnitClaims::drain() {
  // One by one: a large amount from each of several ranks would run over into the other half.
  while (claim_front()) {
  }
}

UnitLedger::Taken UnitClaims::ask(std::int64_t amount) {
  const UnitLedger::Taken taken = UnitLedger::taken(team_.fetch_add(0, amount));
  given_ = ledger_->given(taken);
  return taken;
}

}  // namespace trifuse
