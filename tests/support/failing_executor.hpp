#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "cxx/base/error.hpp"
#include "cxx/plan/executor.hpp"
#include "cxx/plan/task_results.hpp"
#include "tests/support/made_up_executor.hpp"

namespace trifuse::testing {

/// Workers on made-up devices that fail on request.
class FailingExecutor final : public Executor {
 public:
  /// Returns true if a worker must fail. `worker`: its number in the order of construction. `batch`: number of the
  /// batch, counted over all workers from 0; -1 before the first batch.
  using Fails = std::function<bool(int worker, int batch)>;
  FailingExecutor(MadeUpExecutor::Action action, Fails fails, int workers = 0)
      : sound_(std::move(action)), fails_(std::move(fails)), wanted_(workers) {}

  std::string name() const override { return "cuda"; }
  int workers() const override { return wanted_; }
  std::unique_ptr<Worker> make_worker() const override {
    class FailingWorker final : public Worker {
     public:
      FailingWorker(const FailingExecutor& executor, int number)
          : executor_(executor), number_(number), sound_(executor.sound_.make_worker()) {}
      void execute(std::span<const Task> tasks, const TaskResults& results) override {
        executor_.check(number_, executor_.batches_++);
        sound_->execute(tasks, results);
      }
      double operations() const override { return sound_->operations(); }

     private:
      const FailingExecutor& executor_;
      int number_;
      std::unique_ptr<Worker> sound_;
    };
    const int number = made_++;
    check(number, -1);
    return std::make_unique<FailingWorker>(*this, number);
  }
  int failures() const { return failures_; }

 private:
  void check(int worker, int batch) const {
    if (!fails_(worker, batch)) return;
    ++failures_;
    throw DeviceError("GPU 0 fell off the bus.");
  }

  MadeUpExecutor sound_;
  Fails fails_;
  int wanted_;
  mutable std::atomic<int> made_{0}, batches_{0}, failures_{0};
};

}
