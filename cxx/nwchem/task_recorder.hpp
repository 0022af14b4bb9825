#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "cxx/base/error.hpp"
#include "cxx/nwchem/recorded_executor.hpp"

namespace trifuse {

/// Records one task after the other where its executor wants the operands, and has them executed.
///
/// A task for which the executor has no memory goes to the memory of this process, and the executor gets as many boxes
/// of it, one after the other, as it needs; a core computes the task where there is no room even for the smallest box.
///
/// A device that fails is not asked again: whoever handed the operands over does not have them any more, so nobody can
/// compute the task in its place.
class TaskRecorder {
 public:
  using Warn = std::function<void(const std::string& sentence)>;
  /// `where` names the executor in sentences. `warn` is called once when a task is cut for the first time, and once
  /// when a core computes one for the first time.
  TaskRecorder(std::unique_ptr<RecordedExecutor> executor, std::string where, Warn warn);

  /// As in RecordedTask. These and `execute` throw DeviceError, always from the first time on, where the device fails.
  void begin_singles(const RecordedTask::Extents& extent);
  void begin_doubles(const RecordedTask::Extents& extent);
  void add(const Term& term, const RecordedTask::CallExtents& call, const double* t, const double* v);
  /// As in RecordedExecutor, for the task at hand, which is still there afterwards.
  RecordedExecutor::Energies execute(double factor, const std::array<const double*, 6>& eps);
  void clear();

  const RecordedTask& task() const { return on_host_ ? host_task_ : task_; }

 private:
  /// What all boxes of a task have in common.
  struct Sum {
    double factor;
    const std::array<const double*, 6>& eps;
    std::int64_t most_elements;  ///< of a box that may be tried
  };

  RecordedTask& at_hand() { return on_host_ ? host_task_ : task_; }
  void begin(const RecordedTask::Extents& extent);
  template <typename Body>
  auto asking_device(Body body);
  void go_to_host(const DeviceMemoryError& why);
  RecordedExecutor::Energies execute_box(const RecordedTask::Box& box, Sum& sum, RecordedExecutor& executor,
                                         RecordedTask& task);
  RecordedExecutor::Energies execute_in_boxes(double factor, const std::array<const double*, 6>& eps);

  std::unique_ptr<RecordedExecutor> executor_;
  std::string where_;
  Warn warn_;
  RecordedTask task_;  ///< what the executor is given
  HostOperands host_operands_;
  RecordedTask host_task_;
  bool on_host_ = false;               ///< where the task at hand is
  RecordedTask::Extents too_large_{};  ///< of the last task that did not fit
  std::unique_ptr<RecordedExecutor> core_;
  bool warned_of_boxes_ = false, warned_of_core_ = false;
  std::string failure_;  ///< the sentence of a device that has failed
};

}  // namespace trifuse
