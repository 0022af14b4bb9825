#pragma once

#include <memory>
#include <span>
#include <string>

#include "cxx/triples/task.hpp"

namespace trifuse {

/// Turns tasks into energies. The reference executor, the CPU one and those for accelerators are interchangeable: on
/// the same task they return the same energies up to rounding.
class Executor {
 public:
  /// One thread's hold on an executor: owns the scratch memory that a task needs.
  class Worker {
   public:
    virtual ~Worker() = default;
    /// Writes one entry per omega2 of the problem. The result depends on the task alone, to the last bit.
    virtual void execute(const Task& task, std::span<TaskEnergy> energies) = 0;
    /// Floating-point operations of matrix products so far.
    virtual double operations() const { return 0.0; }
  };

  virtual ~Executor() = default;
  virtual std::string name() const = 0;
  /// Workers may be used at the same time, each by one thread.
  virtual std::unique_ptr<Worker> make_worker() const = 0;
};

}  // namespace trifuse
