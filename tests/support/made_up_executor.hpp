#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "cxx/plan/executor.hpp"

namespace trifuse::testing {

/// An executor that calls a function for each task and computes nothing.
class MadeUpExecutor final : public Executor {
 public:
  using Action = std::function<TaskEnergy(const Task&)>;
  /// The numbers of operations that workers report.
  struct Operations {
    double of_worker = 0.0, of_task = 1.0;
  };
  explicit MadeUpExecutor(Action action) : MadeUpExecutor(std::move(action), Operations()) {}
  /// `workers`: number of workers that the executor requests, as a GPU executor does.
  MadeUpExecutor(Action action, Operations operations, int workers = 0)
      : action_(std::move(action)), operations_(operations), workers_(workers) {}

  std::string name() const override { return "made-up"; }
  int workers() const override { return workers_; }
  std::unique_ptr<Worker> make_worker() const override {
    class MadeUpWorker final : public Worker {
     public:
      MadeUpWorker(const Action& action, const Operations& operations)
          : action_(action), of_task_(operations.of_task), operations_(operations.of_worker) {}
      void execute(std::span<const Task> tasks, std::span<TaskEnergy> energies) override {
        const std::size_t count = energies.size() / tasks.size();
        for (std::size_t n = 0; n < tasks.size(); ++n) {
          const std::span<TaskEnergy> own = energies.subspan(n * count, count);
          std::fill(own.begin(), own.end(), action_(tasks[n]));
          operations_ += of_task_;
        }
      }
      double operations() const override { return operations_; }

     private:
      const Action& action_;
      double of_task_, operations_;
    };
    return std::make_unique<MadeUpWorker>(action_, operations_);
  }

 private:
  Action action_;
  Operations operations_;
  int workers_ = 0;
};

}
