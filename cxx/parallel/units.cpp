#include "cxx/parallel/units.hpp"

#include <algorithm>
#include <cmath>

#include "cxx/base/clock.hpp"
#include "cxx/base/communicator.hpp"

namespace trifuse {

std::vector<Unit> make_units(const Plan& plan, int ranks) {
  constexpr double part_of_share = 1.0 / 32, smallest_part = 1.0 / 400, most_units = 4e6, nearly = 0.7;
  // A single rank gets one unit, so its executor sees the whole plan.
  if (ranks <= 1) {
    if (plan.tasks.empty()) return {};
    return {{0, plan.tasks.size(), plan.total_operations}};
  }
  const double smallest = plan.total_operations * std::max(smallest_part / ranks, 1.0 / most_units);
  double left = plan.total_operations, enough = 0.0;
  std::vector<Unit> units;
  for (std::size_t t = 0; t < plan.tasks.size(); ++t) {
    const double operations = plan.operations[t];
    // A large task begins a new unit.
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

int ranks_to_cut_for(const std::vector<double>& rates) {
  // The last units are 1/400 of the share of one of this many ranks.
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

UnitLedger::UnitLedger(std::vector<Unit> units) : units_(std::move(units)), operations_before_{0.0}, tasks_before_{0} {
  for (const Unit& unit : units_) {
    operations_before_.push_back(operations_before_.back() + unit.operations);
    tasks_before_.push_back(tasks_before_.back() + unit.last - unit.first);
  }
}

UnitClaims::UnitClaims(Communicator& communicator, std::vector<Unit> units, const TeamShare& share, std::int64_t begin)
    : UnitClaims(communicator, std::make_shared<const UnitLedger>(std::move(units)), share, begin) {}

UnitClaims::UnitClaims(Communicator& communicator, std::shared_ptr<const UnitLedger> ledger, const TeamShare& share,
                       std::int64_t begin)
    : communicator_(communicator),
      ledger_(std::move(ledger)),
      share_(share),
      begin_(begin),
      last_look_(wall_seconds()) {}

std::int64_t UnitClaims::counter_of(Communicator& communicator) {
  return communicator.fetch_add(0, 0);
}

std::vector<Unit> UnitClaims::next() {
  if (drained_) return {};
  switch (share_.role) {
    case TeamShare::Role::waiter:
      return {};
    case TeamShare::Role::worker:
      return claim_front();
    case TeamShare::Role::helper:
      break;
  }
  return claim_back();
}

std::vector<Unit> UnitClaims::claim_front() {
  if (too_slow()) return {};
  const std::size_t wanted = group_from(seen_.front, ledger_->size() - std::min(ledger_->size(), seen_.back));
  const Taken before = taken(communicator_.fetch_add(0, static_cast<std::int64_t>(wanted) * from_front));
  if (all_taken(before)) return {};
  const std::size_t end = std::min(before.front + wanted, ledger_->size() - before.back);
  // The next claim will probably begin here.
  seen_.front = end;
  const auto at = [&](std::size_t n) { return ledger_->units().begin() + static_cast<std::ptrdiff_t>(n); };
  return {at(before.front), at(end)};
}

std::vector<Unit> UnitClaims::claim_back() {
  // Reads the counter before it claims: a rank that would finish last must leave the unit to the other ranks.
  if (!worth_it(taken(counter_of(communicator_)))) return {};
  const Taken before = taken(communicator_.fetch_add(0, from_back));
  if (all_taken(before)) return {};
  return {(*ledger_)[ledger_->size() - 1 - before.back]};
}

std::size_t UnitClaims::group_from(std::size_t front, std::size_t end) const {
  if (front >= end) return 1;
  // Units are made for a rank of average speed. A faster rank claims several.
  constexpr double part_of_rest = 1.0 / 32;
  const double wanted = part_of_rest * ledger_->operations(front, end) * share_.rate / share_.team_rate;
  std::size_t last = front + 1;
  while (last < end && ledger_->operations(front, last + 1) <= wanted) ++last;
  return last - front;
}

void UnitClaims::goes_on_with_cores() {
  share_.go_on_with_cores();
  measured_rate_.reset();
}

void UnitClaims::drain() {
  static_cast<void>(taken(counter_of(communicator_)));
  if (!drained_) static_cast<void>(taken(communicator_.fetch_add(0, mark)));
  drained_ = true;
}

bool UnitClaims::drained() {
  constexpr double seconds_between_looks = 1.0;
  if (!drained_ && wall_seconds() - last_look_ > seconds_between_looks)
    static_cast<void>(taken(counter_of(communicator_)));
  return drained_;
}

UnitClaims::Taken UnitClaims::taken(std::int64_t counter) {
  const std::int64_t since = counter - begin_;
  const Taken taken{static_cast<std::size_t>(since % from_back), static_cast<std::size_t>(since / from_back)};
  if (since % from_back >= mark) drained_ = true;
  // Claims after the last unit do not count.
  const std::size_t front = std::min(taken.front, ledger_->size()),
                    back = std::max(front, ledger_->size() - std::min(ledger_->size(), taken.back));
  tasks_given_ = ledger_->tasks(0, front) + ledger_->tasks(back, ledger_->size());
  operations_given_ = ledger_->operations(0, front) + ledger_->operations(back, ledger_->size());
  seen_ = {front, ledger_->size() - back};
  last_look_ = wall_seconds();
  if (first_look_ == 0.0) {
    first_look_ = last_look_;
    given_at_first_look_ = operations_given_;
  }
  return taken;
}

double UnitClaims::team_rate() const {
  // Units in progress count as done, which makes the rate slightly too high. This is the safe direction.
  const double watched = last_look_ - first_look_, given = operations_given_ - given_at_first_look_;
  return measured_rate_ && watched > 0.0 && given > 0.0 ? given / watched : share_.team_rate;
}

double UnitClaims::seconds_of(const Unit& unit) const {
  const double seconds = unit.operations / measured_rate_.value_or(share_.rate);
  if (share_.threads_together) return seconds;
  // One thread executes one task.
  const auto threads = static_cast<double>(std::max(1, share_.threads)),
             tasks = static_cast<double>(unit.last - unit.first);
  return seconds * threads / std::min(threads, tasks);
}

bool UnitClaims::worth_it(const Taken& taken) const {
  if (all_taken(taken)) return false;
  // Estimates come from a matrix product and a data sheet. A measured rate has a smaller error.
  const double doubt = measured_rate_ ? 1.25 : 2.0;
  const std::size_t end = ledger_->size() - taken.back;
  const double left = ledger_->operations(taken.front, end);
  return doubt * seconds_of((*ledger_)[end - 1]) < left / team_rate();
}

bool UnitClaims::too_slow() {
  constexpr double doubt = 1.25;
  if (!measured_rate_ || share_.worker_rate <= 0.0) return false;
  const auto rate_of_others = [&] { return share_.worker_rate * team_rate() / share_.team_rate; };
  // First decide with the last known values, so that a fast rank need not read the counter.
  if (doubt * *measured_rate_ > rate_of_others()) return false;
  const Taken now = taken(counter_of(communicator_));
  if (all_taken(now)) return false;
  const double others = rate_of_others();
  if (doubt * *measured_rate_ > others) return false;
  const std::size_t end = ledger_->size() - now.back;
  const double left = ledger_->operations(now.front, end);
  const Unit& unit = (*ledger_)[now.front];
  return doubt * seconds_of(unit) > left / team_rate() + unit.operations / others;
}

}  // namespace trifuse
