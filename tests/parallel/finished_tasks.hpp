#pragma once

#include <cstddef>

#include "cxx/parallel/journal.hpp"

namespace trifuse::testing {

/// Returns the number of tasks that were finished when the journal was opened. `tasks`: number of tasks of its plan.
inline std::size_t finished_tasks(const Journal& journal, std::size_t tasks) {
  std::size_t finished = 0;
  for (std::size_t task = 0; task < tasks; ++task) finished += journal.finished(task) ? 1 : 0;
  return finished;
}

}
