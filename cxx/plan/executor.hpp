#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cxx/plan/plan.hpp"

namespace trifuse {

/// Turns tasks into energies. The reference executor, the CPU one and those for accelerators are interchangeable: on
/// the same task they return the same energies up to rounding.
class Executor {
 public:
  /// One thread's hold on an executor: owns the scratch memory that a task needs.
  class Worker {
   public:
    virtual ~Worker() = default;
    /// Writes one entry per task and omega2 of the problem: `energies` is [omega2, task], omega2 fastest. What a task
    /// gets depends on that task alone, to the last bit, and not on the others beside it.
    virtual void execute(std::span<const Task> tasks, std::span<TaskEnergy> energies) = 0;
    /// Floating-point operations of matrix products so far.
    virtual double operations() const { return 0.0; }
  };

  virtual ~Executor() = default;
  virtual std::string name() const = 0;
  /// Workers may be used at the same time, each by one thread, which also asks for it.
  virtual std::unique_ptr<Worker> make_worker() const = 0;
  /// Numbers of the tasks of `plan` that a worker gets at once, in the order in which these lists should begin; each
  /// task that is not `finished` stands in one of them. Unless an executor knows better every task stands alone, the
  /// most expensive first.
  virtual std::vector<std::vector<std::size_t>> batches(const Plan& plan, const std::vector<bool>& finished) const;
  /// Number of workers that the executor wants; 0: as many as the run has threads.
  virtual int workers() const { return 0; }
};

}  // namespace trifuse
