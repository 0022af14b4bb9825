#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cxx/triples/task.hpp"

namespace trifuse {
class TaskSums;  // task_sums.hpp; not a part of the interface
}

#pragma GCC visibility push(default)

/// What comes back from tasks. Executors fill it, the journal stores it, and threads and ranks add it up. All of them
/// read this description.
namespace trifuse {

/// An array to which all tasks add, e.g. a derivative of the energy. Its elements are integer multiples of `unit`.
/// Sums of integers have the same bits in any order, so they do not depend on threads, GPUs and ranks.
struct SummedArray {
  std::string name;
  std::size_t size = 0;  ///< number of elements
  double unit = 1.0;
  bool operator==(const SummedArray&) const = default;
};

/// The results of a run: the energies of each task for each omega2, and arrays to which the tasks add.
struct ResultShape {
  std::size_t omega2 = 1;  ///< number of omega2 values
  std::vector<SummedArray> sums;

  /// Implicit: most runs return only energies.
  ResultShape(std::size_t omega2_values, std::vector<SummedArray> arrays = {})
      : omega2(omega2_values), sums(std::move(arrays)) {}
  /// Number of doubles that a task returns by itself.
  std::size_t numbers_per_task() const { return omega2 * TaskEnergy::numbers; }
  bool operator==(const ResultShape&) const = default;
};

/// Where a worker puts the results of the tasks of one call.
struct TaskResults {
  std::span<TaskEnergy> energies;  ///< [task, omega2]
  /// The arrays of this process, see task_sums.hpp; null if there are none. A worker whose device may fail adds to them
  /// when all tasks of the call have succeeded: a call that throws DeviceError leaves them unchanged, because its tasks
  /// are executed again.
  TaskSums* sums;

  TaskResults(std::span<TaskEnergy> energies_of_tasks, TaskSums* arrays = nullptr)
      : energies(energies_of_tasks), sums(arrays) {}
  TaskResults(std::vector<TaskEnergy>& energies_of_tasks) : TaskResults(std::span(energies_of_tasks)) {}
  TaskResults(TaskEnergy* first, std::size_t count) : TaskResults(std::span(first, count)) {}
};

}

#pragma GCC visibility pop
