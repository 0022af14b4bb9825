#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cxx/plan/plan.hpp"
#include "cxx/plan/strata.hpp"
#include "cxx/plan/stratum_report.hpp"

namespace trifuse {

/// Estimates energies from tasks in mixed precision and from a sample of tasks in double precision, and the standard
/// error of the estimate. The estimator and its assumptions are in drivers/docs/mixed-precision.md.
///
/// Call order: tasks_to_add(), add(), tasks_to_add(), ... until tasks_to_add() returns no tasks, then the results. All
/// decisions depend on the plan and on the energies alone, so all ranks of a job make the same ones.
class MixedEnergies {
 public:
  /// `plan`: must outlive this. `mixed`: mixed[task, omega2], hartree; they may be infinite or NaN.
  /// `in_double`: in_double[task], true if the energies in `mixed` were computed in double precision after all.
  /// `target_error`: the error bar that the user accepts, hartree; nullopt: that of the first sample.
  MixedEnergies(const Plan& plan, std::vector<TaskEnergy> mixed, std::vector<bool> in_double,
                std::optional<double> target_error);

  /// Returns the tasks whose energies in double precision are needed next, in the order of the plan. These are the
  /// sample, later all tasks of spoiled strata, and last a larger sample for the target error.
  std::vector<std::size_t> tasks_to_add();
  /// Adds energies in double precision. `tasks`: the result of tasks_to_add(). `energies`: energies[position in
  /// `tasks`, omega2], hartree.
  void add(std::span<const std::size_t> tasks, std::span<const TaskEnergy> energies);

  /// The estimate, [task, omega2], hartree. Tasks with energies in double precision have these. All other tasks have
  /// energies in mixed precision, multiplied by the corrections of their strata. Only the sum over tasks has a meaning.
  std::vector<TaskEnergy> corrected() const;
  /// Energies in mixed precision, [task, omega2], hartree; those in double precision for spoiled strata and for tasks
  /// that were computed in double precision from the beginning.
  std::vector<TaskEnergy> uncorrected() const;
  /// Error bars of the sums of corrected() over all tasks, [omega2], hartree. The bar covers the true error within two
  /// bars in at least 95 % of all cases. It is 0 if all tasks have energies in double precision.
  std::vector<Energies> error_bars() const;

  /// One report for each stratum.
  std::vector<StratumReport> strata() const;
  /// Number of tasks whose energies in double precision are used.
  std::size_t tasks_in_double() const;
  /// One sentence for each spoiled stratum.
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  /// The same numbers for the two parts of a task's energies, `same` and `mixed`, and for each energy: values[number],
  /// numbers in the order of TaskEnergy::as_numbers().
  using Numbers = std::array<double, TaskEnergy::numbers>;
  struct State {
    Stratum stratum;
    std::size_t sampled = 0;  ///< tasks at the beginning of Stratum::tasks that are in the sample
    bool spoiled = false;
  };

  const TaskEnergy& mixed(std::size_t task, std::size_t w) const { return mixed_[task * omega2_count_ + w]; }
  const TaskEnergy& exact(std::size_t task, std::size_t w) const { return exact_[task * omega2_count_ + w]; }
  /// Tasks of a stratum whose error is known from a sample, and tasks whose error is estimated.
  std::vector<std::size_t> checked_tasks(const State& state) const;
  std::vector<std::size_t> estimated_tasks_of(const State& state) const;
  /// Correction divided by the auxiliary number of a task, for each number.
  Numbers ratios(const State& state, std::size_t w) const;
  /// Variances of the correction of a stratum, one for each energy, hartree^2.
  std::array<double, Energies::count> variances(const State& state, std::size_t w) const;
  /// Largest bar of all omega2 and energies, hartree.
  double largest_bar() const;
  /// Marks strata as spoiled whose samples disagree grossly, and adds warnings. Returns true if there are new ones.
  void find_spoiled();
  std::string disagreement(const State& state) const;
  /// Enlarges the samples of the strata so that the bar will probably be below the target.
  void enlarge_samples();

  const Plan& plan_;
  std::size_t omega2_count_;
  std::vector<TaskEnergy> mixed_;     ///< [task, omega2]
  std::vector<bool> from_beginning_;  ///< [task]: `mixed_` has energies in double precision
  std::vector<TaskEnergy> exact_;     ///< [task, omega2], valid if known_[task]
  std::vector<bool> known_;           ///< [task]: `exact_` has energies
  std::optional<double> target_error_;
  std::vector<State> states_;
  std::vector<std::string> warnings_;
};

}  // namespace trifuse
