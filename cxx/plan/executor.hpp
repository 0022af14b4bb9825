#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cxx/triples/task.hpp"

namespace trifuse {
class CompleteSums;  // complete_sums.hpp; not a part of the interface, as the next one
class TaskSums;      // task_sums.hpp
}

#pragma GCC visibility push(default)

namespace trifuse {

struct DeviceReport;  // executor_report.hpp
struct Plan;          // plan.hpp
struct TaskResults;   // task_results.hpp

/// Computes the energies of tasks. All executors (reference, CPU, GPU) are interchangeable: for the same task they
/// return the same energies up to rounding.
class Executor {
 public:
  /// Executes tasks on one thread at a time and owns the scratch memory for them.
  class Worker {
   public:
    virtual ~Worker() = default;
    /// Writes the energies of `tasks` for each omega2 of the problem, hartree, and adds to the arrays of `results`. The
    /// bits of a task's energies do not depend on the other tasks of the call.
    virtual void execute(std::span<const Task> tasks, const TaskResults& results) = 0;
    /// Returns the floating-point operations of the matrix products of all calls; 0 if the executor does not count
    /// them.
    virtual double operations() const { return 0.0; }
  };

  virtual ~Executor() = default;
  virtual std::string name() const = 0;
  /// Makes a worker for the calling thread. Several workers may execute tasks at the same time, each on its own thread.
  virtual std::unique_ptr<Worker> make_worker() const = 0;
  /// Groups the tasks of `plan` into batches; a worker gets one batch per call. Returns the batches, lists of task
  /// numbers, in the order in which they should begin. Each task is in exactly one batch unless finished[task] is true.
  /// The default is one task per batch, the most expensive task first.
  virtual std::vector<std::vector<std::size_t>> batches(const Plan& plan, const std::vector<bool>& finished) const;
  /// Returns the size of the particle groups, in tiles, by which the executor would like tasks to be ordered, see
  /// grouped_order(). 0 means no preference. Ranks that share tasks agree on one size.
  virtual int particle_group() const { return 0; }
  /// Returns the number of workers that a run should use; 0 means one for each thread of the run.
  virtual int workers() const { return 0; }
  /// Returns true if move_sums_to() has something to add.
  virtual bool keeps_sums() const { return false; }
  /// Adds to `sums` the sums that workers keep in memory of their own, for example of a device, and sets those to zero.
  /// No worker may execute tasks meanwhile. Called after the last task of a run, and before the sums of a run with a
  /// journal are stored.
  virtual void move_sums_to([[maybe_unused]] TaskSums& sums) const {}
  /// Does the same after the last task of a run, but leaves the first array, which may be large, where it is. Returns
  /// this array, which may outlive the executor; null, and then nothing has been done, if the array cannot stay there.
  virtual std::shared_ptr<CompleteSums> keep_first_array([[maybe_unused]] TaskSums& sums) const { return nullptr; }
  /// Returns what the GPUs of this executor did so far; null if it computes on CPU cores.
  virtual std::shared_ptr<const DeviceReport> device_report() const { return nullptr; }
};

}

#pragma GCC visibility pop
