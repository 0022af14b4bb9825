#include "cxx/cpu/cpu_executor.hpp"

#include <algorithm>
#include <deque>
#include <numeric>
#include <optional>

#include "cxx/base/blas.hpp"
#include "cxx/base/share_among_threads.hpp"
#include "cxx/cpu/subtask_worker.hpp"
#include "cxx/operands/panel_store.hpp"
#include "cxx/plan/plan.hpp"
#include "cxx/plan/task_results.hpp"

namespace trifuse {

namespace {

class CpuExecutor final : public PanelExecutor {
 public:
  CpuExecutor(const Problem& problem, const TileSpace& tiles, CpuTiles limits, int threads_per_worker,
              Precision precision)
      : problem_(problem),
        coarse_(tiles),
        fine_(cpu_panel_tiles(tiles, limits)),
        limits_(limits),
        threads_per_worker_(std::max(1, threads_per_worker)),
        precision_(precision) {
    problem_.require_operands_of_quotients();
    use_single_threaded_blas();
  }

  std::string name() const override { return precision_ == Precision::mixed ? "mixed-cpu" : "cpu"; }
  std::unique_ptr<Worker> make_worker() const override;
  int workers() const override { return threads_per_worker_ > 1 ? 1 : 0; }
  std::vector<std::vector<std::size_t>> batches(const Plan& plan, const std::vector<bool>& finished) const override;
  const TileSpace& panel_tiles() const override { return fine_; }
  void take_panels(std::shared_ptr<const PanelStore> panels) override {
    // If the panels have smaller tiles than the tasks, subtasks must lie inside these tiles.
    fine_ = cpu_panel_tiles(panels->tiles(), limits_);
    panels_.emplace(std::move(panels), fine_);
  }

 private:
  friend class CpuWorker;
  Problem problem_;
  TileSpace coarse_;
  TileSpace fine_;
  CpuTiles limits_;
  int threads_per_worker_;  ///< 1: each worker has one thread; else one worker whose threads share subtasks
  Precision precision_;
  std::optional<PanelParts> panels_;
};

/// A worker of one thread, or of several threads that share the subtasks of its tasks.
class CpuWorker final : public Executor::Worker {
 public:
  explicit CpuWorker(const CpuExecutor& executor) : executor_(executor) {
    for (int t = 0; t < executor.threads_per_worker_; ++t) {
      threads_.emplace_back(executor.problem_, *executor.panels_, executor.precision_);
    }
  }

  void execute(std::span<const Task> tasks, const TaskResults& results) override {
    const std::span<TaskEnergy> energies = results.energies;
    subtasks_.clear();
    ends_.clear();
    for (const Task& task : tasks) {
      const std::vector<Task> more =
          refine_task(executor_.coarse_, executor_.fine_, executor_.problem_.formulation, task);
      subtasks_.insert(subtasks_.end(), more.begin(), more.end());
      ends_.push_back(subtasks_.size());
    }
    const std::size_t count = executor_.problem_.quotients.size();
    subtask_energies_.assign(subtasks_.size() * count, TaskEnergy{});
    execute_subtasks(results.sums);
    // Subtasks are added in a fixed order. So a task's energies have the same bits with any number of threads.
    std::fill(energies.begin(), energies.end(), TaskEnergy{});
    for (std::size_t task = 0, n = 0; task < tasks.size(); ++task) {
      for (; n < ends_[task]; ++n) {
        for (std::size_t w = 0; w < count; ++w) {
          energies[task * count + w] += subtask_energies_[n * count + w];
        }
      }
    }
  }

  double operations() const override {
    return std::accumulate(threads_.begin(), threads_.end(), 0.0,
                           [](double sum, const SubtaskWorker& thread) { return sum + thread.operations(); });
  }

 private:
  void execute_subtasks(TaskSums* sums) {
    if (threads_.size() == 1) return threads_.front().execute(subtasks_, 0, 1, subtask_energies_, sums);
    share_in_turns(threads_.size(), static_cast<int>(threads_.size()),
                   [&](std::size_t t) { threads_[t].execute(subtasks_, t, threads_.size(), subtask_energies_, sums); });
  }

  const CpuExecutor& executor_;
  std::deque<SubtaskWorker> threads_;
  std::vector<Task> subtasks_;
  std::vector<std::size_t> ends_;             ///< [task]: end of its subtasks in `subtasks_`
  std::vector<TaskEnergy> subtask_energies_;  ///< [subtask, omega2]
};

std::unique_ptr<Executor::Worker> CpuExecutor::make_worker() const {
  return std::make_unique<CpuWorker>(*this);
}

/// Returns batches of one task. If the worker has several threads, a batch has enough tasks for several subtasks of
/// each thread.
std::vector<std::vector<std::size_t>> CpuExecutor::batches(const Plan& plan, const std::vector<bool>& finished) const {
  std::vector<std::vector<std::size_t>> alone = Executor::batches(plan, finished);
  if (threads_per_worker_ <= 1) return alone;
  constexpr double subtasks_of_a_thread = 16.0;
  const auto subtasks = [&](const Task& task) {
    double product = 1.0;
    const auto divided_into = [](std::int64_t size, std::int64_t limit) {
      return static_cast<double>((size + limit - 1) / limit);
    };
    for (const int tile : task.particles) product *= divided_into(coarse_[tile].size, limits_.particles);
    for (const int tile : task.holes) product *= divided_into(coarse_[tile].size, limits_.holes);
    return product;
  };
  const double enough = subtasks_of_a_thread * threads_per_worker_;
  std::vector<std::vector<std::size_t>> together;
  double gathered = enough;
  for (const std::vector<std::size_t>& task : alone) {
    if (gathered >= enough) {
      together.emplace_back();
      gathered = 0.0;
    }
    together.back().push_back(task.front());
    gathered += subtasks(plan.tasks[task.front()]);
  }
  return together;
}

}

TileSpace cpu_panel_tiles(const TileSpace& tiles, CpuTiles limits) {
  return tiles.refined(limits.holes, limits.particles);
}

std::unique_ptr<PanelExecutor> prepare_cpu_executor(const Problem& problem, const TileSpace& tiles, CpuTiles limits,
                                                    int threads_per_worker, Precision precision) {
  return std::make_unique<CpuExecutor>(problem, tiles, limits, threads_per_worker, precision);
}

std::unique_ptr<Executor> make_cpu_executor(const Problem& problem, const TileSpace& tiles, CpuTiles limits) {
  std::unique_ptr<PanelExecutor> executor = prepare_cpu_executor(problem, tiles, limits);
  executor->take_panels(std::make_shared<PanelStore>(problem, executor->panel_tiles()));
  return executor;
}

CpuMemory cpu_executor_memory(const Problem& problem, const TileSpace& tiles, CpuTiles limits) {
  constexpr std::int64_t width = sizeof(double);
  const TileSpace fine = cpu_panel_tiles(tiles, limits);
  return {PanelLayout::required_doubles(problem, fine) * width, SubtaskWorker::scratch_doubles(problem, fine) * width,
          PanelLayout::doubles_in_use(problem, fine) * width, PanelLayout::made_doubles(problem, fine) * width};
}

CpuMemory cpu_memory_with_panels_of(const Problem& problem, const TileSpace& panel_tiles, CpuTiles limits) {
  constexpr std::int64_t width = sizeof(double);
  const TileSpace fine = cpu_panel_tiles(panel_tiles, limits);
  // Parts of panels are copied to scratch. They take as much memory as panels of these tiles.
  const std::int64_t scratch =
      SubtaskWorker::scratch_doubles(problem, fine) + PanelLayout::doubles_in_use(problem, fine);
  return {PanelLayout::required_doubles(problem, panel_tiles) * width, scratch * width,
          PanelLayout::doubles_in_use(problem, panel_tiles) * width,
          PanelLayout::made_doubles(problem, panel_tiles) * width};
}

}
