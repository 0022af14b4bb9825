#include "cxx/nwchem/task_recorder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cxx/base/box_pieces.hpp"

namespace trifuse {

namespace {

/// Smallest extent of a region, in orbitals. Smaller regions would need too many launches. If a region of this size
/// does not fit, the task does not fit.
constexpr std::int64_t least_orbitals = 4;
/// Largest region on a CPU core. A core stores two numbers for each element, so a region takes 256 MiB, which no memory
/// limit includes.
constexpr std::int64_t max_elements_on_core = std::int64_t{1} << 24;

}

TaskRecorder::TaskRecorder(std::unique_ptr<RecordedExecutor> executor, std::string where, Warn warn)
    : executor_(std::move(executor)),
      where_(std::move(where)),
      warn_(std::move(warn)),
      task_(executor_->operands()),
      host_task_(host_operands_) {}

/// Runs `body`, which may use the device. After a failure of the device it throws DeviceError without running `body`.
template <typename Body>
auto TaskRecorder::asking_device(Body body) {
  if (!failure_.empty()) throw DeviceError(failure_);
  try {
    return body();
  } catch (const DeviceMemoryError&) {
    throw;
  } catch (const DeviceError& error) {
    failure_ = fmt::format(
        "{} failed, and the operands that NWChem had sent to it are lost; run again without this GPU (hide it with "
        "CUDA_VISIBLE_DEVICES, or give a smaller number in the line `cuda n`), or link the routine, which continues on "
        "CPU cores. {}",
        where_, error.what());
    throw DeviceError(failure_);
  }
}

void TaskRecorder::begin(const RecordedTask::Extents& extent) {
  asking_device([] {});
  // If a task with the same extents did not fit, this task goes to the host at once. This saves a copy to the device
  // and back.
  if (!task().begun()) on_host_ = extent == too_large_;
}

void TaskRecorder::begin_singles(const RecordedTask::Extents& extent) {
  begin(extent);
  at_hand().begin_singles(extent);
}

void TaskRecorder::begin_doubles(const RecordedTask::Extents& extent) {
  begin(extent);
  at_hand().begin_doubles(extent);
}

void TaskRecorder::add(const Term& term, const RecordedTask::CallExtents& call, const double* t, const double* v) {
  asking_device([&] {
    try {
      at_hand().add(term, call, t, v);
    } catch (const DeviceMemoryError& why) {
      go_to_host(why);
      at_hand().add(term, call, t, v);
    }
  });
}

/// Moves the current task from the executor's memory to the memory of this process.
void TaskRecorder::go_to_host(const DeviceMemoryError& why) {
  task_.copy_to(host_task_);
  task_.clear();
  executor_->release();
  on_host_ = true;
  too_large_ = host_task_.extent();
  if (!std::exchange(warned_of_regions_, true)) {
    warn_(fmt::format("{}: {} The GPU computes such tasks in parts, which takes longer.", where_, why.what()));
  }
}

/// Computes the energies of a region of the host task. If the region does not fit, computes its two halves.
Energies TaskRecorder::execute_region(const RecordedTask::Region& region, Sum& sum, RecordedExecutor& executor,
                                      RecordedTask& task) {
  const auto longest = std::max_element(region.extent.begin(), region.extent.end()) - region.extent.begin();
  const auto divided = static_cast<std::size_t>(longest);
  const bool least = region.extent[divided] <= least_orbitals;
  if (least || elements_of(region.extent) <= sum.max_elements) {
    try {
      host_task_.copy_region_to(task, region);
      std::array<const double*, 6> eps{};
      for (std::size_t q = 0; q < 6; ++q) eps[q] = sum.eps[q] + region.begin[q];
      const Energies found = executor.execute(task, sum.weight, eps);
      task.clear();
      return found;
    } catch (const DeviceMemoryError&) {
      task.clear();
      executor.release();
      if (least) throw;
      // Regions of this size do not fit either.
      sum.max_elements = elements_of(region.extent) - 1;
    }
  }
  RecordedTask::Region first = region, second = region;
  first.extent[divided] = (region.extent[divided] + 1) / 2;
  second.begin[divided] += first.extent[divided];
  second.extent[divided] -= first.extent[divided];
  const Energies one = execute_region(first, sum, executor, task);
  return one + execute_region(second, sum, executor, task);
}

Energies TaskRecorder::execute_in_regions(double weight, const std::array<const double*, 6>& eps) {
  const RecordedTask::Region whole{{}, host_task_.extent()};
  try {
    Sum sum{weight, eps, elements_of(whole.extent)};
    return execute_region(whole, sum, *executor_, task_);
  } catch (const DeviceMemoryError& why) {
    if (!std::exchange(warned_of_core_, true)) {
      warn_(fmt::format("{}: {} A CPU core computes such tasks, which takes far longer.", where_, why.what()));
    }
  }
  if (!core_) core_ = make_recorded_cpu_executor();
  RecordedTask task(core_->operands());
  Sum sum{weight, eps, max_elements_on_core};
  return execute_region(whole, sum, *core_, task);
}

Energies TaskRecorder::execute(double weight, const std::array<const double*, 6>& eps) {
  return asking_device([&] {
    if (!on_host_) {
      try {
        return executor_->execute(task_, weight, eps);
      } catch (const DeviceMemoryError& why) {
        go_to_host(why);
      }
    }
    return execute_in_regions(weight, eps);
  });
}

void TaskRecorder::clear() {
  task_.clear();
  host_task_.clear();
  on_host_ = false;
}

}
