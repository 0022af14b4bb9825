#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "cxx/plan/plan.hpp"

namespace trifuse {

/// The names of spin cases in messages and reports: [spin case].
inline constexpr std::array<const char*, 4> spin_case_names = {"aaa", "aab", "abb", "bbb"};

/// Tasks of one spin case and of similar sizes, from which a sample is taken.
struct Stratum {
  SpinCase spin_case = SpinCase::aaa;
  double least_operations = 0.0, most_operations = 0.0;  ///< of its smallest and of its largest task
  /// Numbers of tasks in the plan, in the order of random_number(). The first ones are a simple random sample.
  std::vector<std::size_t> tasks;
};

/// A random number for each task, 0 < number < 1. It depends on the number of the task alone.
double random_number(std::size_t task);

/// Number of tasks of each stratum that are computed in double precision whatever their energies are. A spoiled energy
/// may be zero, so a sample of large energies would not find it.
inline constexpr std::size_t check_sample = 8;
/// Least number of tasks of each stratum in the sample that estimates the correction.
inline constexpr std::size_t least_sample = 12;

/// Divides the tasks of a plan into strata. The sizes of the tasks of a stratum differ by a factor of 4 at most, unless
/// there are too few of these tasks for a sample. Such tasks join the tasks of the next larger size. If they are the
/// largest tasks, they join those of the next smaller size. The strata and the order of their tasks depend on the plan
/// alone.
std::vector<Stratum> make_strata(const Plan& plan);

/// Number of tasks of a stratum that estimate the correction in every run.
std::size_t first_sample(const Stratum& stratum);

/// Predicts which tasks a run in mixed precision also computes in double precision, in the order of the plan. The run
/// chooses them by their energies. Here the energies are in proportion to the operations, and no sample is enlarged.
std::vector<std::size_t> expected_sample(const Plan& plan);

}
