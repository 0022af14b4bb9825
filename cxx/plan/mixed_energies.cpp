#include "cxx/plan/mixed_energies.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace trifuse {

namespace {

constexpr std::size_t numbers = TaskEnergy::numbers, count = Energies::count;

/// Errors of a task are about proportional to these numbers, one for each number of TaskEnergy. A relative error b of
/// D changes E[T], a sum of D D, by 2 b E[T], and every other energy E, a sum of (D + S) D, by b (E + E[T]).
std::array<double, numbers> auxiliary_numbers(const TaskEnergy& energy) {
  std::array<double, numbers> x = energy.as_numbers();
  for (std::size_t part = 0; part < numbers; part += count) {
    const double e_of_doubles = x[part];
    for (std::size_t n = part; n < part + count; ++n) x[n] = std::abs(x[n] + e_of_doubles);
  }
  return x;
}

/// Energy number `n` of both parts together.
double sum_of_parts(const std::array<double, numbers>& x, std::size_t n) {
  double sum = 0.0;
  for (std::size_t part = 0; part < numbers; part += count) sum += x[part + n];
  return sum;
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

/// Half of the 97.5 % quantile of Student's distribution: two bars of this many standard errors contain 95 %. The
/// series is accurate to 1e-3 for 10 and more degrees of freedom.
double bars_per_standard_error(double freedom) {
  constexpr double normal = 1.95996, first = 2.37227, second = 2.82250;
  return (normal + first / freedom + second / (freedom * freedom)) / 2.0;
}

constexpr std::array<const char*, 4> spin_case_names = {"aaa", "aab", "abb", "bbb"};

}  // namespace

MixedEnergies::MixedEnergies(const Plan& plan, std::vector<TaskEnergy> mixed, std::vector<bool> in_double,
                             std::optional<double> target_error)
    : plan_(plan),
      omega2_count_(mixed.size() / std::max<std::size_t>(1, plan.tasks.size())),
      mixed_(std::move(mixed)),
      from_beginning_(std::move(in_double)),
      exact_(mixed_),
      known_(from_beginning_),
      target_error_(target_error) {
  for (Stratum& stratum : make_strata(plan)) {
    const std::size_t sample = first_sample(stratum);
    states_.push_back({std::move(stratum), sample, false});
  }
}

std::vector<std::size_t> MixedEnergies::tasks_to_add() {
  find_spoiled();
  const auto list_tasks = [&] {
    std::vector<std::size_t> tasks;
    for (const State& state : states_) {
      const std::vector<std::size_t>& all = state.stratum.tasks;
      std::copy_if(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(state.sampled), std::back_inserter(tasks),
                   [&](std::size_t task) { return !known_[task]; });
    }
    std::sort(tasks.begin(), tasks.end());
    return tasks;
  };
  std::vector<std::size_t> tasks = list_tasks();
  if (!tasks.empty() || !target_error_) return tasks;
  // Each enlargement adds at least one task, so this ends at the latest when all tasks are known.
  while (tasks.empty() && largest_bar() > *target_error_) {
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

std::vector<std::size_t> MixedEnergies::checked_tasks(const State& state) const {
  std::vector<std::size_t> tasks;
  for (std::size_t n = 0; n < state.sampled; ++n) {
    const std::size_t task = state.stratum.tasks[n];
    if (known_[task] && !from_beginning_[task]) tasks.push_back(task);
  }
  return tasks;
}

std::vector<std::size_t> MixedEnergies::estimated_tasks_of(const State& state) const {
  std::vector<std::size_t> tasks;
  for (std::size_t n = state.sampled; n < state.stratum.tasks.size(); ++n) {
    const std::size_t task = state.stratum.tasks[n];
    if (!from_beginning_[task]) tasks.push_back(task);
  }
  return tasks;
}

MixedEnergies::Numbers MixedEnergies::ratios(const State& state, std::size_t w) const {
  Numbers error{}, size{};
  for (const std::size_t task : checked_tasks(state)) {
    const Numbers d = difference(exact(task, w), mixed(task, w)), x = auxiliary_numbers(mixed(task, w));
    for (std::size_t n = 0; n < numbers; ++n) {
      error[n] += d[n];
      size[n] += x[n];
    }
  }
  for (std::size_t n = 0; n < numbers; ++n) error[n] = size[n] > 0.0 ? error[n] / size[n] : 0.0;
  return error;
}

std::array<double, count> MixedEnergies::variances(const State& state, std::size_t w) const {
  std::array<double, count> variance{};
  const std::vector<std::size_t> rest = estimated_tasks_of(state), sample = checked_tasks(state);
  if (rest.empty() || state.spoiled) return variance;
  // A sample of one task says nothing about the spread. This happens only if other kinds of workers computed nearly the
  // whole sample. The error is then taken to be that of the task itself.
  const double freedom = std::max(1.0, static_cast<double>(sample.size()) - 1.0);
  const Numbers ratio = sample.size() > 1 ? ratios(state, w) : Numbers{};
  for (std::size_t n = 0; n < count; ++n) {
    double squares = 0.0, scaled_squares = 0.0, of_sample = 0.0, of_rest = 0.0;
    for (const std::size_t task : sample) {
      const Numbers d = difference(exact(task, w), mixed(task, w)), x = auxiliary_numbers(mixed(task, w));
      Numbers residual{};
      for (std::size_t m = 0; m < numbers; ++m) residual[m] = d[m] - ratio[m] * x[m];
      const double e = sum_of_parts(residual, n), size = sum_of_parts(x, n);
      squares += e * e;
      scaled_squares += size > 0.0 ? e * e / size : 0.0;
      of_sample += size;
    }
    for (const std::size_t task : rest) of_rest += sum_of_parts(auxiliary_numbers(mixed(task, w)), n);
    const auto n_sample = static_cast<double>(sample.size()), n_rest = static_cast<double>(rest.size());
    const double growth = of_sample > 0.0 ? of_rest / of_sample : 0.0;
    const double same_spread = squares / freedom * (n_rest + growth * growth * n_sample);
    const double spread_with_size = scaled_squares / freedom * (of_rest + growth * of_rest);
    const double bars = bars_per_standard_error(freedom);
    variance[n] = bars * bars * std::max(same_spread, spread_with_size);
  }
  return variance;
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
    const std::vector<std::size_t> estimated = estimated_tasks_of(state);
    for (std::size_t w = 0; w < omega2_count_; ++w) {
      const Numbers ratio = ratios(state, w);
      for (const std::size_t task : estimated) {
        Numbers energy = mixed(task, w).as_numbers();
        const Numbers x = auxiliary_numbers(mixed(task, w));
        for (std::size_t n = 0; n < numbers; ++n) energy[n] += ratio[n] * x[n];
        energies[task * omega2_count_ + w] = TaskEnergy::of_numbers(energy.data());
      }
    }
  }
  return energies;
}

std::vector<Energies> MixedEnergies::error_bars() const {
  std::vector<Energies> bars;
  for (std::size_t w = 0; w < omega2_count_; ++w) {
    std::array<double, count> sum{};
    for (const State& state : states_) {
      const auto more = variances(state, w);
      for (std::size_t n = 0; n < count; ++n) sum[n] += more[n];
    }
    for (double& value : sum) value = std::sqrt(value);
    bars.push_back(Energies::of_values(sum.data()));
  }
  return bars;
}

double MixedEnergies::largest_bar() const {
  double largest = 0.0;
  for (const Energies& bars : error_bars()) {
    for (const double bar : bars.values()) largest = std::max(largest, bar);
  }
  return largest;
}

std::string MixedEnergies::disagreement(const State& state) const {
  // Relative errors of mixed precision are below 1e-6. The errors of small tasks, in which large elements cancel, are
  // compared with the mean task.
  constexpr double gross = 1e-4;
  const std::vector<std::size_t> sample = checked_tasks(state);
  for (std::size_t w = 0; w < omega2_count_; ++w) {
    for (const std::size_t task : estimated_tasks_of(state)) {
      if (!finite(mixed(task, w))) return "energies that are not finite numbers";
    }
    Numbers mean{};
    for (const std::size_t task : sample) {
      if (!finite(mixed(task, w))) return "energies that are not finite numbers";
      const Numbers x = auxiliary_numbers(exact(task, w));
      for (std::size_t n = 0; n < numbers; ++n) mean[n] += x[n] / static_cast<double>(sample.size());
    }
    for (const std::size_t task : sample) {
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
    state.sampled = state.stratum.tasks.size();
    warnings_.push_back(
        fmt::format("Mixed precision gives {} (spin case {}, tasks of {:.3g} to {:.3g} operations); all {} tasks of "
                    "this class are computed in double precision.",
                    why, spin_case_names[static_cast<std::size_t>(state.stratum.spin_case)],
                    state.stratum.least_operations, state.stratum.most_operations, state.stratum.tasks.size()));
  }
}

void MixedEnergies::enlarge_samples() {
  // With n tasks of N in the sample, the variance of a stratum is about spread (1/n - 1/N). The cost of a sample is
  // lowest if n is proportional to sqrt(spread / operations of a task).
  struct Part {
    double sample, all, spread, cost;
  };
  std::vector<Part> parts;
  for (const State& state : states_) {
    double variance = 0.0;
    for (std::size_t w = 0; w < omega2_count_; ++w) {
      for (const double value : variances(state, w)) variance = std::max(variance, value);
    }
    Part part{static_cast<double>(state.sampled), static_cast<double>(state.stratum.tasks.size()), 0.0, 1.0};
    for (const std::size_t task : state.stratum.tasks) part.cost += plan_.operations[task] / part.all;
    if (part.sample < part.all) part.spread = variance / (1.0 / part.sample - 1.0 / part.all);
    parts.push_back(part);
  }
  // The spread of a larger sample may be larger.
  constexpr double caution = 0.7;
  const double wanted = caution * *target_error_ * *target_error_;
  const auto size_of = [](const Part& part, double scale) {
    return std::clamp(std::ceil(scale * std::sqrt(part.spread / part.cost)), part.sample, part.all);
  };
  const auto variance_at = [&](double scale) {
    double sum = 0.0;
    for (const Part& part : parts) sum += part.spread * (1.0 / size_of(part, scale) - 1.0 / part.all);
    return sum;
  };
  double scale = 1.0, spread = 0.0;
  for (const Part& part : parts) spread = std::max(spread, std::sqrt(part.spread / part.cost));
  if (spread > 0.0) scale = 1.0 / spread;
  constexpr double step = 1.05;
  const double largest_scale = std::numeric_limits<double>::max() / (2.0 * step);
  while (variance_at(scale) > wanted && scale < largest_scale) scale *= step;
  bool enlarged = false;
  for (std::size_t n = 0; n < states_.size(); ++n) {
    const Part& part = parts[n];
    double size = part.spread > 0.0 ? size_of(part, scale) : part.sample;
    // A sample of half the tasks costs as much as the tasks in mixed precision gain.
    if (2.0 * size > part.all && size > part.sample) size = part.all;
    enlarged = enlarged || size > part.sample;
    states_[n].sampled = static_cast<std::size_t>(size);
  }
  if (enlarged) return;
  // The estimate above says that the target is reached, but it is not.
  for (State& state : states_) {
    state.sampled = std::min(state.stratum.tasks.size(), state.sampled + 1 + state.sampled / 8);
  }
}

std::vector<StratumReport> MixedEnergies::strata() const {
  std::vector<StratumReport> reports;
  for (const State& state : states_) {
    const Stratum& stratum = state.stratum;
    const std::size_t estimated = estimated_tasks_of(state).size();
    reports.push_back({stratum.spin_case, stratum.least_operations, stratum.most_operations, stratum.tasks.size(),
                       stratum.tasks.size() - estimated, state.spoiled});
  }
  return reports;
}

std::size_t MixedEnergies::tasks_in_double() const {
  std::size_t tasks = 0;
  for (const StratumReport& report : strata()) tasks += report.tasks_in_double;
  return tasks;
}

}  // namespace trifuse
