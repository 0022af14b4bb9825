#include "cxx/cuda/runtime/cuda_worker.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "cxx/base/clock.hpp"
#include "cxx/base/error.hpp"
#include "cxx/cuda/runtime/cuda_launch.hpp"
#include "cxx/cuda/runtime/current_device.hpp"
#include "cxx/cuda/schedule/cta_tiles.hpp"
#include "cxx/plan/plan.hpp"
#include "cxx/plan/task_results.hpp"

namespace trifuse::gpu {

namespace {

class CudaWorker final : public Executor::Worker {
 public:
  /// The device must be the current one.
  CudaWorker(const CudaWork& work, const Device& device)
      : work_(work), device_(device), buffers_(work.scratch_doubles), selector_(shapes_of(device.kernels)) {
    for (const Kernel* kernel : device.kernels) {
      launches_.emplace_back(device, *kernel, work.problem, work.fine.orbitals(),
                             has_backward() ? std::make_unique<BackwardLaunch>(
                                                  *device.derivatives, precision_of(device.format()), work.seed_bytes)
                                            : nullptr);
    }
  }

  void execute(std::span<const Task> tasks, const TaskResults& results) override {
    try {
      execute(tasks, results.energies);
    } catch (const DeviceError& error) {
      if (!has_backward()) throw;
      throw_lost_derivatives(error);
    }
  }

  double operations() const override { return operations_; }

 private:
  struct Done {
    std::int64_t launches = 0, cta_tiles = 0;
  };

  bool has_backward() const { return device_.derivatives != nullptr; }

  /// As the public function. The derivatives stay on the device until Executor::move_sums_to().
  void execute(std::span<const Task> tasks, std::span<TaskEnergy> energies) {
    const CurrentDevice current(device_.number);
    std::fill(energies.begin(), energies.end(), TaskEnergy{});
    const double begin = wall_seconds();
    const double waited_before = buffers_.seconds_waiting;
    done_.assign(launches_.size(), Done{});
    const std::size_t per_task = work_.problem.quotients.size();
    for (std::size_t t = 0; t < tasks.size(); ++t) {
      const auto energies_of_task = energies.subspan(t * per_task, per_task);
      // All subtasks of a task use the same kernel. So their energies are added in the same order, whatever else is in
      // the launch.
      std::array<int, 3> extent{};
      for (std::size_t q = 0; q < 3; ++q) {
        extent[q] = static_cast<int>(work_.coarse[tasks[t].particles[q]].size);
      }
      const std::size_t kernel = selector_.best(extent);
      if (!work_.refined) {
        add_subtask(tasks[t], energies_of_task, kernel);
        continue;
      }
      for (const Task& subtask : refine_task(work_.coarse, work_.fine, work_.problem.formulation, tasks[t])) {
        add_subtask(subtask, energies_of_task, kernel);
      }
    }
    for (std::size_t n = 0; n < launches_.size(); ++n) run(n);
    const double waited = buffers_.seconds_waiting - waited_before;
    const std::lock_guard lock(work_.counts.mutex);
    work_.counts.report.seconds_waiting += waited;
    work_.counts.report.seconds_preparing += wall_seconds() - begin - waited;
    for (std::size_t n = 0; n < launches_.size(); ++n) {
      work_.counts.report.launches += done_[n].launches;
      work_.counts.cta_tiles[launches_[n].kernel().name] += done_[n].cta_tiles;
    }
  }

  /// Adds a subtask (or a whole task) to the pending launch of kernel `n`. If it does not fit, runs that launch first.
  /// `energies`: [omega2]; the energies of the subtask are added to them.
  void add_subtask(const Task& task, std::span<TaskEnergy> energies, std::size_t n) {
    write_program(work_.problem, work_.fine, task, device_.format(), contractions_, program_);
    if (has_backward())
      write_backward_program(work_.problem, device_.derivatives->layout(), device_.derivatives->vvoo_sums(), task,
                             program_, backward_format(device_.format()), contractions_, backward_);
    const auto add = [&] {
      return launches_[n].add(program_, task.spin_case, energies, selector_.tiling(n), work_.launch_limit,
                              has_backward() ? &backward_ : nullptr);
    };
    std::optional<double> operations = add();
    if (!operations) {
      run(n);
      operations = add();
    }
    operations_ += operations.value();
  }

  void run(std::size_t n) {
    if (launches_[n].empty()) return;
    done_[n].cta_tiles += launches_[n].run(buffers_);
    ++done_[n].launches;
  }

  const CudaWork work_;
  const Device& device_;
  LaunchBuffers buffers_;
  ShapeSelector selector_;
  std::vector<PendingLaunch> launches_;  ///< [kernel] pending launches
  std::vector<Done> done_;
  ContractionList contractions_;
  TaskProgram program_;
  BackwardProgram backward_;
  double operations_ = 0.0;
};

}

std::unique_ptr<Executor::Worker> make_cuda_worker(const CudaWork& work, const Device& device) {
  const CurrentDevice current(device.number);
  return std::make_unique<CudaWorker>(work, device);
}

}
