#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cxx/calculation/calculation.hpp"
#include "cxx/plan/plan.hpp"
#include "cxx/plan/strata.hpp"

namespace trifuse {

/// Estimates energies from tasks in mixed precision and from a sample of tasks in double precision, and the error bar
/// of the estimate. The estimator and its assumptions are in drivers/docs/mixed-precision.md.
///
/// Call order: tasks_to_add(), add(), tasks_to_add(), ... until tasks_to_add() returns no tasks, then the results. All
/// decisions depend on the plan and on the energies alone, so all ranks of a job decide the same.
class MixedEnergies {
 public:
  /// `plan` must outlive this object. `omega2_count`: number of omega2 values. `mixed`: mixed[task, omega2], hartree;
  /// they may be infinite or NaN. `in_double`: in_double[task], true if the energies in `mixed` were computed in double
  /// precision after all. `target_error`: the error bar that the user accepts, hartree. Default: 7e-9 of the energy, or
  /// 3e-10 hartree if this is more.
  MixedEnergies(const Plan& plan, std::size_t omega2_count, std::vector<TaskEnergy> mixed,
                const std::vector<bool>& in_double, std::optional<double> target_error);

  /// Returns the tasks whose energies in double precision are needed next, in the order of the plan. These are the
  /// first sample, later all tasks of spoiled strata, and larger samples for the target error.
  std::vector<std::size_t> tasks_to_add();
  /// Adds energies in double precision. `tasks`: the result of tasks_to_add(). `energies`: energies[position in
  /// `tasks`, omega2], hartree.
  void add(std::span<const std::size_t> tasks, std::span<const TaskEnergy> energies);

  /// Returns the estimate, [task, omega2], hartree. If a task has energies in double precision, they are used. All
  /// other tasks have energies in mixed precision with the corrections of their strata. Only the sum over tasks has a
  /// meaning.
  std::vector<TaskEnergy> corrected() const;
  /// Returns the energies in mixed precision, [task, omega2], hartree. For spoiled strata, and for tasks that were
  /// computed in double precision from the beginning, they are in double precision.
  std::vector<TaskEnergy> uncorrected() const;
  /// Returns the error bars of the sums of corrected() over all tasks, [omega2], hartree. Two bars cover the error in
  /// at least 95 % of all cases. The bar is 0 if all tasks have energies in double precision.
  std::vector<Energies> error_bars() const;

  /// Returns one report for each stratum.
  std::vector<StratumReport> strata() const;
  /// Returns the number of tasks whose energies in double precision are used.
  std::size_t tasks_in_double() const;
  /// Returns one sentence for each spoiled stratum.
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  /// The same numbers for `same` and `mixed` and for each energy, in the order of TaskEnergy::as_numbers().
  using Numbers = std::array<double, TaskEnergy::numbers>;
  using PerEnergy = std::array<double, Energies::count>;

  /// A task of a sample.
  struct Sampled {
    std::size_t task;
    double size;        ///< see `sizes_`
    double not_chosen;  ///< probability that a sample of this size does not contain the task
  };
  struct State {
    Stratum stratum;
    std::vector<std::size_t> order;  ///< tasks from which the sample is taken, in the order in which they join it
    std::vector<Sampled> sample;     ///< the tasks at the beginning of `order`
    bool spoiled = false;
  };

  const TaskEnergy& mixed(std::size_t task, std::size_t w) const { return mixed_[task * omega2_count_ + w]; }
  const TaskEnergy& exact(std::size_t task, std::size_t w) const { return exact_[task * omega2_count_ + w]; }
  /// Sets `State::order`.
  void order_tasks(State& state) const;
  /// Sets `State::sample` to the first `task_count` tasks of the order.
  void set_sample(State& state, std::size_t task_count) const;
  /// Returns the tasks of a stratum whose energies in double precision are not known.
  std::vector<std::size_t> estimated_tasks(const State& state) const;
  /// Returns the correction divided by the auxiliary number of a task, for each energy. Both parts of an energy have
  /// the same ratio: one part may be nearly zero in all tasks of a sample, and its errors then give no information.
  PerEnergy ratios(const std::vector<Sampled>& sample, std::size_t w) const;
  /// Returns the squares of the error bars of the correction of a stratum, hartree^2.
  PerEnergy squared_bars(const State& state, std::size_t w) const;
  /// Returns the bar that is accepted for an energy, hartree.
  double accepted_bar(double energy) const;
  /// Returns the largest ratio of a bar to the accepted bar, over all omega2 and energies.
  double largest_bar() const;
  /// Marks strata as spoiled whose samples disagree grossly, and adds warnings.
  void find_spoiled();
  std::string disagreement(const State& state) const;
  /// Enlarges the samples of the strata so that the bar will probably be accepted.
  void enlarge_samples();

  const Plan& plan_;
  std::size_t omega2_count_;
  std::vector<TaskEnergy> mixed_;  ///< [task, omega2]
  std::vector<TaskEnergy> exact_;  ///< [task, omega2]: in double precision if known_[task], else as in `mixed_`
  std::vector<bool> known_;        ///< [task]: true if it was computed in double precision
  std::vector<double> sizes_;      ///< [task]: the probability to be in a sample is proportional to it; hartree
  std::optional<double> target_error_;
  std::vector<State> states_;
  std::vector<std::string> warnings_;
};

}
