#pragma once

#include <cstddef>
#include <vector>

#include "cxx/plan/plan.hpp"

namespace trifuse {

/// Tasks of one spin case and of similar sizes, from which a sample is taken.
struct Stratum {
  SpinCase spin_case = SpinCase::aaa;
  double least_operations = 0.0, most_operations = 0.0;  ///< of its smallest and of its largest task
  /// Numbers of tasks in the plan, in a random order. A sample of n tasks consists of the first n. So a larger sample
  /// contains the smaller one.
  std::vector<std::size_t> tasks;
};

/// Least number of tasks in a sample. A stratum with fewer tasks is computed in double precision.
inline constexpr std::size_t least_sample = 16;

/// Divides the tasks of a plan into strata. The sizes of the tasks of a stratum differ by a factor of 4 at most, unless
/// there are too few of these tasks for a sample. Such tasks join the tasks of the next larger size, the largest tasks
/// those of the next smaller size. The result, with the order of the tasks, depends on the plan alone.
std::vector<Stratum> make_strata(const Plan& plan);

/// Number of tasks of a stratum that are sampled in every run.
std::size_t first_sample(const Stratum& stratum);

}  // namespace trifuse
