#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "cxx/base/error.hpp"
#include "cxx/nwchem/recorded_executor.hpp"

namespace trifuse {

/// Records tasks, one at a time, in the operand store of an executor, and executes them.
///
/// If the executor has too little memory for a task, the recorder moves the task to the memory of this process, divides
/// it into regions, and executes one region after another. If not even the smallest region fits, a CPU core computes
/// the task.
///
/// If a device fails, its operands are lost, and NWChem does not have them any more. So no other worker can compute the
/// task, and the recorder does not use the device again.
class TaskRecorder {
 public:
  using Warn = std::function<void(const std::string& sentence)>;
  /// `executor` must not be null. `where`: name of the executor in messages. `warn` is called once when a task is
  /// divided for the first time, and once when a core computes a task for the first time; it must not be empty.
  TaskRecorder(std::unique_ptr<RecordedExecutor> executor, std::string where, Warn warn);

  /// These functions record a task, see RecordedTask. They and `execute` throw DeviceError if the device fails, and at
  /// every later call.
  void begin_singles(const RecordedTask::Extents& extent);
  void begin_doubles(const RecordedTask::Extents& extent);
  void add(const Term& term, const RecordedTask::CallExtents& call, const double* t, const double* v);
  /// Computes the energies of the current task, see RecordedExecutor. The task remains recorded until `clear`.
  Energies execute(double weight, const std::array<const double*, 6>& eps);
  /// Discards the current task.
  void clear();

  /// Returns the current task.
  const RecordedTask& task() const { return on_host_ ? host_task_ : task_; }

 private:
  /// Parameters of all regions of a task.
  struct Sum {
    double weight;
    const std::array<const double*, 6>& eps;
    std::int64_t max_elements;  ///< largest region that may be executed at once
  };

  RecordedTask& at_hand() { return on_host_ ? host_task_ : task_; }
  void begin(const RecordedTask::Extents& extent);
  template <typename Body>
  auto asking_device(Body body);
  void go_to_host(const DeviceMemoryError& why);
  Energies execute_region(const RecordedTask::Region& region, Sum& sum, RecordedExecutor& executor, RecordedTask& task);
  Energies execute_in_regions(double weight, const std::array<const double*, 6>& eps);

  std::unique_ptr<RecordedExecutor> executor_;
  std::string where_;
  Warn warn_;
  RecordedTask task_;  ///< with operands in the executor's store
  HostOperands host_operands_;
  RecordedTask host_task_;
  bool on_host_ = false;                    ///< true if the current task is `host_task_`
  RecordedTask::Extents too_large_{};       ///< extents of the last task that did not fit
  std::unique_ptr<RecordedExecutor> core_;  ///< made when it is needed
  bool warned_of_regions_ = false, warned_of_core_ = false;
  std::string failure_;  ///< the message of a failed device; empty: none has failed
};

}
