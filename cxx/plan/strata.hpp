#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "cxx/plan/plan.hpp"

namespace trifuse {

/// The names of the spin cases in messages and reports.
inline constexpr std::array<const char*, 4> spin_case_names = {"aaa", "aab", "abb", "bbb"};

/// Tasks of one spin case and of similar sizes, from which a sample is taken.
struct Stratum {
  SpinCase spin_case = SpinCase::aaa;
  double least_operations = 0.0, most_operations = 0.0;  ///< operations of the smallest and of the largest task
  /// Numbers of tasks in the plan, in the order of random_number(). The first ones are a simple random sample.
  std::vector<std::size_t> tasks;
};

/// Returns a random number for each task, 0 < number < 1. It depends on the number of the task alone.
double random_number(std::size_t task);

/// So many tasks of each stratum are computed in double precision whatever their energies are. A wrong energy may be
/// zero. Then a sample of large energies would not find it.
inline constexpr std::size_t check_sample = 8;
/// At least so many tasks of each stratum are in the sample that estimates the correction.
inline constexpr std::size_t least_sample = 12;

/// Divides the tasks of a plan into strata. The sizes of the tasks of a stratum differ by a factor of 4 at most. But a
/// stratum that is too small for a sample is joined with the stratum of the next larger tasks, or if it has the largest
/// tasks, of the next smaller ones. The strata and the order of their tasks depend on the plan alone.
std::vector<Stratum> make_strata(const Plan& plan);

/// Returns the number of tasks of a stratum that estimate the correction in every run.
std::size_t first_sample(const Stratum& stratum);

/// Predicts which tasks a run in mixed precision also computes in double precision, in the order of the plan. A run
/// chooses these tasks by their energies. This function assumes energies in proportion to the operations, and no
/// enlarged sample.
std::vector<std::size_t> expected_sample(const Plan& plan);

}
