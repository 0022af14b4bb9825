#include "cxx/calculation/mixed_energies.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

namespace trifuse {

namespace {

constexpr std::size_t numbers = TaskEnergy::numbers, count = Energies::count;

/// Returns numbers to which the errors of a task are about proportional, one for each number of TaskEnergy. A relative
/// error b of D changes E[T], a sum of D D, by 2 b E[T], and every other energy E, a sum of (D + S) D, by b (E + E[T]).
std::array<double, numbers> auxiliary_numbers(const TaskEnergy& energy) {
  std::array<double, numbers> x = energy.as_numbers();
  for (std::size_t part = 0; part < numbers; part += count) {
    const double e_of_doubles = x[part];
    for (std::size_t n = part; n < part + count; ++n) x[n] = std::abs(x[n] + e_of_doubles);
  }
  return x;
}

/// Returns energy number `n` of both parts together.
double sum_of_parts(const std::array<double, numbers>& x, std::size_t n) {
  double sum = 0.0;
  for (std::size_t part = 0; part < numbers; part += count) sum += x[part + n];
  return sum;
}

std::array<double, count> sums_of_parts(const std::array<double, numbers>& x) {
  std::array<double, count> sums{};
  for (std::size_t n = 0; n < count; ++n) sums[n] = sum_of_parts(x, n);
  return sums;
}

std::array<double, numbers> difference(const TaskEnergy& exact, const TaskEnergy& mixed) {
  std::array<double, numbers> d = exact.as_numbers();
  const auto less = mixed.as_numbers();
  for (std::size_t n = 0; n < numbers; ++n) d[n] -= less[n];
  return d;
}

bool finite(const TaskEnergy& energy) {
  const auto values = energy.as_numbers();
  return std::all_of(values.begin(), values.end(), [](double x) { return std::isfinite(x); });
}

/// Returns half of the 97.5 % quantile of Student's distribution: two bars of this many standard errors contain 95 %.
/// The series is accurate to 1e-3 for 10 and more degrees of freedom. A safety factor allows for residuals with longer
/// tails than in the normal distribution, as open shells in diffuse bases have them.
double bars_per_standard_error(double freedom) {
  constexpr double normal = 1.95996, first = 2.37227, second = 2.82250, tails = 1.25;
  return tails * (normal + first / freedom + second / (freedom * freedom)) / 2.0;
}

}

MixedEnergies::MixedEnergies(const Plan& plan, std::size_t omega2_count, std::vector<TaskEnergy> mixed,
                             const std::vector<bool>& in_double, std::optional<double> target_error)
    : plan_(plan),
      omega2_count_(omega2_count),
      mixed_(std::move(mixed)),
      exact_(mixed_),
      known_(in_double),
      target_error_(target_error) {
  for (std::size_t task = 0; task < plan.tasks.size(); ++task) {
    double size = 0.0;
    for (std::size_t w = 0; w < omega2_count_; ++w) {
      for (const double x : auxiliary_numbers(mixed_[task * omega2_count_ + w])) size += x;
    }
    sizes_.push_back(std::isfinite(size) ? size : 0.0);
  }
  for (Stratum& stratum : make_strata(plan)) {
    State state;
    state.stratum = std::move(stratum);
    order_tasks(state);
    set_sample(state, std::min(state.order.size(), first_sample(state.stratum)));
    states_.push_back(std::move(state));
  }
}

void MixedEnergies::order_tasks(State& state) const {
  const std::vector<std::size_t>& tasks = state.stratum.tasks;
  std::vector<std::pair<double, std::size_t>> keys;
  for (std::size_t n = std::min(check_sample, tasks.size()); n < tasks.size(); ++n) {
    if (known_[tasks[n]]) continue;
    const double size = sizes_[tasks[n]];
    const double key = size > 0.0 ? random_number(tasks[n]) / size : std::numeric_limits<double>::infinity();
    keys.emplace_back(key, tasks[n]);
  }
  std::sort(keys.begin(), keys.end());
  for (const auto& [key, task] : keys) state.order.push_back(task);
}

std::vector<std::size_t> MixedEnergies::tasks_to_add() {
  const auto list_tasks = [&] {
    std::vector<std::size_t> tasks;
    const auto add_unknown = [&](const std::vector<std::size_t>& from, std::size_t most) {
      for (std::size_t n = 0; n < std::min(most, from.size()); ++n) {
        if (!known_[from[n]]) tasks.push_back(from[n]);
      }
    };
    for (const State& state : states_) {
      add_unknown(state.stratum.tasks, state.spoiled ? state.stratum.tasks.size() : check_sample);
      if (!state.spoiled) add_unknown(state.order, state.sample.size());
    }
    std::sort(tasks.begin(), tasks.end());
    return tasks;
  };
  find_spoiled();
  std::vector<std::size_t> tasks = list_tasks();
  // Each enlargement adds a task, so the loop ends at the latest when all tasks are known.
  while (tasks.empty() && largest_bar() > 1.0) {
    enlarge_samples();
    tasks = list_tasks();
  }
  return tasks;
}

void MixedEnergies::add(std::span<const std::size_t> tasks, std::span<const TaskEnergy> energies) {
  for (std::size_t position = 0; position < tasks.size(); ++position) {
    known_[tasks[position]] = true;
    for (std::size_t w = 0; w < omega2_count_; ++w) {
      exact_[tasks[position] * omega2_count_ + w] = energies[position * omega2_count_ + w];
    }
  }
}

void MixedEnergies::set_sample(State& state, std::size_t task_count) const {
  std::vector<double> sizes;
  double total = 0.0;
  for (const std::size_t task : state.order) {
    sizes.push_back(sizes_[task]);
    total += sizes_[task];
  }
  // A task that is larger than the mean size of one drawing is in every sample. The other tasks share the other
  // drawings.
  std::sort(sizes.begin(), sizes.end(), std::greater<>());
  auto drawings = static_cast<double>(task_count);
  for (const double size : sizes) {
    if (drawings < 1.0 || drawings * size < total) break;
    drawings -= 1.0;
    total -= size;
  }
  state.sample.clear();
  for (std::size_t n = 0; n < task_count; ++n) {
    const double size = sizes_[state.order[n]], chosen = total > 0.0 ? drawings * size / total : 1.0;
    state.sample.push_back({state.order[n], size, std::max(0.0, 1.0 - chosen)});
  }
}

std::vector<std::size_t> MixedEnergies::estimated_tasks(const State& state) const {
  std::vector<std::size_t> tasks;
  for (std::size_t n = state.sample.size(); n < state.order.size(); ++n) {
    if (!known_[state.order[n]]) tasks.push_back(state.order[n]);
  }
  return tasks;
}

MixedEnergies::PerEnergy MixedEnergies::ratios(const std::vector<Sampled>& sample, std::size_t w) const {
  PerEnergy error{}, auxiliary{};
  for (const auto& [task, size, not_chosen] : sample) {
    if (size == 0.0) continue;
    const PerEnergy d = sums_of_parts(difference(exact(task, w), mixed(task, w))),
                    x = sums_of_parts(auxiliary_numbers(mixed(task, w)));
    for (std::size_t n = 0; n < count; ++n) {
      error[n] += not_chosen * d[n] / size;
      auxiliary[n] += not_chosen * x[n] / size;
    }
  }
  for (std::size_t n = 0; n < count; ++n) error[n] = auxiliary[n] > 0.0 ? error[n] / auxiliary[n] : 0.0;
  return error;
}

MixedEnergies::PerEnergy MixedEnergies::squared_bars(const State& state, std::size_t w) const {
  PerEnergy squares{};
  if (state.spoiled) return squares;
  PerEnergy of_rest{}, of_sample{};
  for (const std::size_t task : estimated_tasks(state)) {
    const PerEnergy x = sums_of_parts(auxiliary_numbers(mixed(task, w)));
    for (std::size_t n = 0; n < count; ++n) of_rest[n] += x[n];
  }
  const std::vector<Sampled>& sample = state.sample;
  const PerEnergy ratio = ratios(sample, w);
  double drawings = 0.0;
  for (const auto& [task, size, not_chosen] : sample) {
    if (size == 0.0 || not_chosen == 0.0) continue;
    drawings += 1.0;
    const PerEnergy x = sums_of_parts(auxiliary_numbers(mixed(task, w)));
    for (std::size_t n = 0; n < count; ++n) of_sample[n] += not_chosen * x[n] / size;
  }
  for (const auto& [task, size, not_chosen] : sample) {
    if (size == 0.0 || not_chosen == 0.0) continue;
    const PerEnergy d = sums_of_parts(difference(exact(task, w), mixed(task, w))),
                    x = sums_of_parts(auxiliary_numbers(mixed(task, w)));
    for (std::size_t n = 0; n < count; ++n) {
      if (of_sample[n] == 0.0) continue;
      squares[n] += not_chosen * std::pow(of_rest[n] / of_sample[n] * (d[n] - ratio[n] * x[n]) / size, 2);
    }
  }
  if (drawings < 2.0) {
    // A single task has no spread. Then the bar is the largest known error of mixed precision.
    constexpr double largest_error = 1e-6;
    for (std::size_t n = 0; n < count; ++n) squares[n] = std::pow(largest_error * of_rest[n], 2);
    return squares;
  }
  const double bars = bars_per_standard_error(drawings - 1.0);
  for (double& square : squares) square *= bars * bars * drawings / (drawings - 1.0);
  return squares;
}

std::vector<TaskEnergy> MixedEnergies::uncorrected() const {
  std::vector<TaskEnergy> energies = mixed_;
  for (const State& state : states_) {
    if (!state.spoiled) continue;
    for (const std::size_t task : state.stratum.tasks) {
      for (std::size_t w = 0; w < omega2_count_; ++w) energies[task * omega2_count_ + w] = exact(task, w);
    }
  }
  return energies;
}

std::vector<TaskEnergy> MixedEnergies::corrected() const {
  std::vector<TaskEnergy> energies = exact_;
  for (const State& state : states_) {
    const std::vector<std::size_t> estimated = estimated_tasks(state);
    for (std::size_t w = 0; w < omega2_count_; ++w) {
      const PerEnergy ratio = ratios(state.sample, w);
      for (const std::size_t task : estimated) {
        Numbers energy = mixed(task, w).as_numbers();
        const Numbers x = auxiliary_numbers(mixed(task, w));
        for (std::size_t n = 0; n < numbers; ++n) energy[n] += ratio[n % count] * x[n];
        energies[task * omega2_count_ + w] = TaskEnergy::of_numbers(energy.data());
      }
    }
  }
  return energies;
}

std::vector<Energies> MixedEnergies::error_bars() const {
  std::vector<Energies> bars;
  for (std::size_t w = 0; w < omega2_count_; ++w) {
    PerEnergy sum{};
    for (const State& state : states_) {
      const PerEnergy more = squared_bars(state, w);
      for (std::size_t n = 0; n < count; ++n) sum[n] += more[n];
    }
    for (double& value : sum) value = std::sqrt(value);
    bars.push_back(Energies::of_values(sum.data()));
  }
  return bars;
}

double MixedEnergies::accepted_bar(double energy) const {
  constexpr double relative = 7e-9, least = 3e-10;
  return target_error_.value_or(std::max(least, relative * std::abs(energy)));
}

double MixedEnergies::largest_bar() const {
  double largest = 0.0;
  const std::vector<Energies> bars = error_bars();
  const std::vector<TaskEnergy> energies = corrected();
  for (std::size_t w = 0; w < omega2_count_; ++w) {
    TaskEnergy total;
    for (std::size_t task = 0; task < plan_.tasks.size(); ++task) total += energies[task * omega2_count_ + w];
    const auto values = (total.same + total.mixed).values(), of_bars = bars[w].values();
    for (std::size_t n = 0; n < count; ++n) largest = std::max(largest, of_bars[n] / accepted_bar(values[n]));
  }
  return largest;
}

std::string MixedEnergies::disagreement(const State& state) const {
  // Relative errors of mixed precision are below 1e-6. The errors of small tasks, in which large elements cancel, are
  // compared with the mean task.
  constexpr double gross = 2e-5;
  const std::vector<std::size_t>& tasks = state.stratum.tasks;
  for (std::size_t w = 0; w < omega2_count_; ++w) {
    Numbers mean{};
    for (const std::size_t task : tasks) {
      if (!finite(mixed(task, w))) return "energies that are not finite numbers";
      const Numbers x = auxiliary_numbers(exact(task, w));
      for (std::size_t n = 0; n < numbers; ++n) mean[n] += x[n] / static_cast<double>(tasks.size());
    }
    for (const std::size_t task : tasks) {
      const Numbers d = difference(exact(task, w), mixed(task, w)), x = auxiliary_numbers(exact(task, w));
      for (std::size_t n = 0; n < count; ++n) {
        const double size = std::max(sum_of_parts(x, n), sum_of_parts(mean, n));
        if (std::abs(sum_of_parts(d, n)) <= gross * size) continue;
        return fmt::format("an error of {:.1e} hartree in a task of {:.1e} hartree", std::abs(sum_of_parts(d, n)),
                           sum_of_parts(x, n));
      }
    }
  }
  return {};
}

void MixedEnergies::find_spoiled() {
  for (State& state : states_) {
    if (state.spoiled) continue;
    const std::string why = disagreement(state);
    if (why.empty()) continue;
    state.spoiled = true;
    warnings_.push_back(
        fmt::format("Mixed precision gives {} (spin case {}, tasks of {:.3g} to {:.3g} operations); all {} tasks of "
                    "this class are computed in double precision.",
                    why, spin_case_names[static_cast<std::size_t>(state.stratum.spin_case)],
                    state.stratum.least_operations, state.stratum.most_operations, state.stratum.tasks.size()));
  }
}

void MixedEnergies::enlarge_samples() {
  // The squared bar of a stratum with a sample of n tasks of N is about spread (1/n - 1/N). The cost of the samples is
  // lowest if n is proportional to sqrt(spread / operations of a task).
  struct Part {
    double sample = 0.0, all = 0.0, spread = 0.0, cost = 1.0;
    double size(double scale) const { return std::clamp(std::ceil(scale * std::sqrt(spread / cost)), sample, all); }
  };
  std::vector<Part> parts;
  double sum_of_squares = 0.0, largest = 0.0;
  for (const State& state : states_) {
    Part part{static_cast<double>(state.sample.size()), static_cast<double>(state.order.size())};
    for (const std::size_t task : state.order) part.cost += plan_.operations[task] / part.all;
    double square = 0.0;
    for (std::size_t w = 0; w < omega2_count_; ++w) {
      for (const double value : squared_bars(state, w)) square = std::max(square, value);
    }
    if (part.sample < part.all) part.spread = square / (1.0 / std::max(1.0, part.sample) - 1.0 / (part.all + 1.0));
    sum_of_squares += square;
    largest = std::max(largest, std::sqrt(part.spread / part.cost));
    parts.push_back(part);
  }
  const auto squares_at = [&](double scale) {
    double sum = 0.0;
    for (const Part& part : parts) sum += part.spread * (1.0 / std::max(1.0, part.size(scale)) - 1.0 / part.all);
    return sum;
  };
  // The spread of a larger sample may be larger.
  constexpr double caution = 0.8, step = 1.05;
  const double wanted = caution * sum_of_squares / std::pow(largest_bar(), 2);
  double scale = largest > 0.0 ? 1.0 / largest : 1.0;
  const auto all_sampled = [&] {
    return std::all_of(parts.begin(), parts.end(),
                       [&](const Part& part) { return part.spread == 0.0 || part.size(scale) == part.all; });
  };
  while (squares_at(scale) > wanted && !all_sampled()) scale *= step;
  for (std::size_t n = 0; n < states_.size(); ++n) {
    const Part& part = parts[n];
    if (part.spread == 0.0) continue;
    // The sample gets at least some more tasks, because its current bar is not accepted.
    const double least = std::min(part.all, part.sample + 1.0 + std::floor(part.sample / 8.0));
    double size = std::max(least, part.size(scale));
    // A sample of more than half of the tasks costs as much as mixed precision gains.
    if (2.0 * size > part.all) size = part.all;
    set_sample(states_[n], static_cast<std::size_t>(size));
  }
}

std::vector<StratumReport> MixedEnergies::strata() const {
  std::vector<StratumReport> reports;
  for (const State& state : states_) {
    const Stratum& stratum = state.stratum;
    const auto unknown = static_cast<std::size_t>(
        std::count_if(stratum.tasks.begin(), stratum.tasks.end(), [&](std::size_t task) { return !known_[task]; }));
    reports.push_back({stratum.spin_case, stratum.least_operations, stratum.most_operations, stratum.tasks.size(),
                       stratum.tasks.size() - unknown, state.spoiled});
  }
  return reports;
}

std::size_t MixedEnergies::tasks_in_double() const {
  return static_cast<std::size_t>(std::count(known_.begin(), known_.end(), true));
}

}
