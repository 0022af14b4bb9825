#pragma once

#include <cstddef>

#include "cxx/triples/task.hpp"

namespace trifuse {

/// What a run in mixed precision computed in one stratum: tasks of one spin case and of similar sizes.
struct StratumReport {
  SpinCase spin_case = SpinCase::aaa;
  double least_operations = 0.0, most_operations = 0.0;  ///< of its smallest and of its largest task
  std::size_t tasks = 0;
  std::size_t tasks_in_double = 0;  ///< tasks whose energies in double precision are used
  /// True if the energies in mixed precision were wrong. All tasks of the stratum then have energies in double
  /// precision.
  bool spoiled = false;
};

}  // namespace trifuse
