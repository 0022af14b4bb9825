#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "cxx/cuda/kernel/backward.hpp"
#include "cxx/cuda/runtime/arrays_in_one.hpp"
#include "cxx/cuda/runtime/device_memory.hpp"
#include "cxx/cuda/schedule/backward_program.hpp"
#include "cxx/cuda/schedule/kernel_parameters.hpp"
#include "cxx/operands/panel_layout.hpp"
#include "cxx/plan/task_sums.hpp"
#include "cxx/triples/precision.hpp"

namespace trifuse {
class DeviceError;
}

namespace trifuse::gpu {

/// The sums of derivatives on one GPU, see DerivativeSums. All workers of the GPU add to them. Belongs to the current
/// device.
class DeviceDerivatives {
 public:
  /// Makes sums of zeros. `layout`: the panels of the problem; it must stay valid.
  explicit DeviceDerivatives(const PanelLayout& layout);

  /// Sets the sums in the parameters of a kernel.
  void set(DerivativeParameters& parameters) const;
  /// Returns the integers of the operands, in the linear layout.
  unsigned long long* operands() const { return operands_.data(); }
  const PanelLayout& layout() const { return layout_; }
  /// Returns the integers by vvoo blocks, and where they are.
  unsigned long long* vvoo() const { return vvoo_.data(); }
  const VvooSums& vvoo_sums() const { return vvoo_sums_; }
  /// Adds the sums to `sums` of the host and begins with zeros again. All work of the workers must be done.
  void move_to(TaskSums& sums);
  /// Does the same, but returns those of the operands. No further task may add to them.
  DeviceArray<unsigned long long> take_operands(TaskSums& sums);

 private:
  /// Adds the integers of vvoo blocks to the operands.
  void add_vvoo();
  /// Moves all but the operands.
  void move_small(TaskSums& sums);

  const PanelLayout& layout_;
  const VvooSums vvoo_sums_;
  DeviceArray<unsigned long long> operands_, vvoo_, energies_, ov_tensors_[max_disconnected_sets];
};

/// Throws a SystemError instead of a DeviceError: the tasks that a failed GPU had added to its sums are lost with it,
/// so other workers cannot go on.
[[noreturn]] void throw_lost_derivatives(const DeviceError& error);

/// The backward pass of the tasks of a launch: their seeds, and the products of these with panels. Belongs to a worker
/// of the current device.
class BackwardLaunch {
 public:
  /// `sums`: must stay valid. `precision`: of the kernels. `seed_bytes`: memory for the seeds of all tasks of a launch.
  BackwardLaunch(const DeviceDerivatives& sums, Precision precision, std::int64_t seed_bytes);

  /// Returns true if the seeds of a task fit beside those of the tasks that have been added.
  bool has_room(const TaskData& task, const BackwardProgram& program) const;
  /// Adds a task. Its seeds must fit.
  void add(const TaskData& task, const BackwardProgram& program);
  /// Sets the panels of the products. `panel_of(name)` returns the packed panel in device memory.
  template <typename PanelOf>
  void resolve(PanelOf panel_of) {
    for (std::size_t n = 0; n < products_.size(); ++n)
      products_[n].panel = reinterpret_cast<const char*>(panel_of(panels_[n]));
  }
  /// Adds the arrays of the launch to those that are sent with its program on `stream`, and sets the parameters of the
  /// triples kernel.
  void send_with(ArraysInOne& arrays, DerivativeParameters& parameters, cudaStream_t stream);
  /// Puts the products on `stream`, after the triples kernel. `multiprocessors`: number of multiprocessors.
  void run(int multiprocessors, cudaStream_t stream) const;
  void clear();

 private:
  const DeviceDerivatives& sums_;
  const Precision precision_;
  DeviceArray<std::byte> memory_;  ///< of the seeds
  std::int64_t used_ = 0;          ///< bytes of it that are used
  DeviceArray<unsigned> largest_;  ///< [task] see TaskSeeds; only in mixed precision
  std::vector<TaskSeeds> seeds_;
  std::vector<unsigned long long> vvoo_;  ///< see DerivativeParameters
  std::vector<BackwardProduct> products_;
  std::vector<PanelName> panels_;                   ///< [product] the panel that is multiplied
  std::vector<std::size_t> tasks_;                  ///< [product] number of its task
  std::map<int, std::vector<BackwardTile>> tiles_;  ///< key: width
  const BackwardProduct* products_on_device_ = nullptr;
  std::map<int, const BackwardTile*> tiles_on_device_;
};

}
