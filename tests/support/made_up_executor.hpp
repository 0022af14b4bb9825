#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cxx/base/error.hpp"
#include "cxx/base/zeroed_vector.hpp"
#include "cxx/plan/complete_sums.hpp"
#include "cxx/plan/executor.hpp"
#include "cxx/plan/plan.hpp"
#include "cxx/plan/task_results.hpp"
#include "cxx/plan/task_sums.hpp"

namespace trifuse::testing {

/// An executor that calls a function for each task and computes nothing. Each task adds numbers of its own to all
/// elements of the summed arrays.
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

  /// What a task adds to element n of a summed array: numbers of both signs that need more than 32 bits.
  static std::int64_t addend(const Task& task, std::size_t n) {
    const std::int64_t number = task.particles[0] + 10 * task.particles[2] + 100 * task.holes[0] + 1000 * task.holes[2];
    return (number % 2 == 0 ? 1 : -1) * ((number << 33) + static_cast<std::int64_t>(n));
  }
  /// The sum over all tasks.
  static ZeroedVector<std::int64_t> sum_of(const Plan& plan, std::size_t size) {
    ZeroedVector<std::int64_t> sum(size);
    for (const Task& task : plan.tasks) {
      for (std::size_t n = 0; n < size; ++n) sum[n] += addend(task, n);
    }
    return sum;
  }

  /// What happens to the first array after the last task: it stays there if it may; it is lost later.
  enum class FirstArray { moves, stays, is_lost };
  /// From now on tasks add to memory of this executor, as those of a GPU do, until move_sums_to().
  void keep_sums(FirstArray first_array = FirstArray::moves) {
    keeps_sums_ = true;
    first_array_ = first_array;
  }

  std::string name() const override { return "made-up"; }
  int workers() const override { return workers_; }
  std::unique_ptr<Worker> make_worker() const override {
    class MadeUpWorker final : public Worker {
     public:
      explicit MadeUpWorker(const MadeUpExecutor& executor)
          : executor_(executor), operations_(executor.operations_.of_worker) {}
      void execute(std::span<const Task> tasks, const TaskResults& results) override {
        const std::span<TaskEnergy> energies = results.energies;
        const std::size_t count = energies.size() / tasks.size();
        for (std::size_t n = 0; n < tasks.size(); ++n) {
          const std::span<TaskEnergy> own = energies.subspan(n * count, count);
          std::fill(own.begin(), own.end(), executor_.action_(tasks[n]));
          operations_ += executor_.operations_.of_task;
        }
        if (results.sums == nullptr) return;
        if (executor_.keeps_sums_) {
          const std::lock_guard lock(executor_.mutex_);
          executor_.kept_.insert(executor_.kept_.end(), tasks.begin(), tasks.end());
        } else {
          add(tasks, *results.sums);
        }
      }
      double operations() const override { return operations_; }

     private:
      const MadeUpExecutor& executor_;
      double operations_;
    };
    return std::make_unique<MadeUpWorker>(*this);
  }
  bool keeps_sums() const override { return keeps_sums_; }
  void move_sums_to(TaskSums& sums) const override {
    const std::lock_guard lock(mutex_);
    add(kept_, sums);
    kept_.clear();
  }
  std::shared_ptr<CompleteSums> keep_first_array(TaskSums& sums) const override {
    if (first_array_ == FirstArray::moves) return nullptr;
    const std::lock_guard lock(mutex_);
    add(kept_, sums, 1);
    ZeroedVector<std::int64_t> first(sums.size(0));
    for (const Task& task : kept_) {
      for (std::size_t n = 0; n < first.size(); ++n) first[n] += addend(task, n);
    }
    kept_.clear();
    if (first_array_ == FirstArray::is_lost) return std::make_shared<LostSums>();
    return std::make_shared<HostSums>(std::move(first));
  }

 private:
  /// The sums of a GPU that has failed.
  class LostSums final : public CompleteSums {
   public:
    void read(std::span<const Piece>, std::size_t, const std::function<void(std::span<const double>)>&) const override {
      fail();
    }
    void get(std::size_t, std::span<std::int64_t>) const override { fail(); }
    void set(std::size_t, std::span<const std::int64_t>) override { fail(); }

   private:
    [[noreturn]] static void fail() { throw Error("The sums are lost."); }
  };

  static void add(std::span<const Task> tasks, TaskSums& sums, std::size_t first_array = 0) {
    for (const Task& task : tasks) {
      for (std::size_t array = first_array; array < sums.arrays(); ++array) {
        std::vector<std::int64_t> addends(sums.size(array));
        for (std::size_t n = 0; n < addends.size(); ++n) addends[n] = addend(task, n);
        sums.add_integers(array, 0, addends);
      }
    }
  }

  Action action_;
  Operations operations_;
  int workers_ = 0;
  bool keeps_sums_ = false;
  FirstArray first_array_ = FirstArray::moves;
  mutable std::mutex mutex_;        ///< guards the next member
  mutable std::vector<Task> kept_;  ///< the tasks that have been executed since move_sums_to()
};

}
