#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "cxx/cuda/runtime/cuda_device.hpp"
#include "cxx/cuda/runtime/device_derivatives.hpp"
#include "cxx/cuda/runtime/launch_program.hpp"
#include "cxx/cuda/schedule/cta_tiles.hpp"
#include "cxx/cuda/schedule/task_program.hpp"
#include "cxx/plan/executor.hpp"
#include "cxx/triples/problem.hpp"

namespace trifuse::gpu {

/// The tasks that the next launch of a kernel will compute.
class PendingLaunch {
 public:
  /// The references must stay valid as long as this object. `orbitals`: number of orbitals of the tile space to which
  /// the programs refer.
  /// `backward`: the backward pass of the tasks; null if there is none.
  PendingLaunch(const Device& device, const Kernel& kernel, const Problem& problem, std::int64_t orbitals,
                std::unique_ptr<BackwardLaunch> backward = nullptr);

  const Kernel& kernel() const { return kernel_; }
  bool empty() const { return results_.empty(); }

  /// Adds a task to the launch and returns its floating-point operations. Returns nullopt and changes nothing if the
  /// launch has tasks and the new task would exceed `max_bytes` of panels or the limit of CTA tiles.
  ///
  /// `energies` [omega2]: run() adds the task's energies to them; they must stay valid until then. `tiling`: made for
  /// the kernel's shape. `backward`: only with a backward pass.
  std::optional<double> add(const TaskProgram& program, SpinCase spin_case, std::span<TaskEnergy> energies,
                            CtaTiling& tiling, std::int64_t max_bytes, const BackwardProgram* backward = nullptr);

  /// Launches the kernel, waits for the energies, and removes the tasks. Returns the number of CTA tiles.
  std::int64_t run(LaunchBuffers& buffers);

 private:
  /// The place for the energies of a task.
  struct ResultSlot {
    SpinCase spin_case;
    std::span<TaskEnergy> energies;  ///< [omega2]
  };
  /// A product whose panels are indices of `names_`.
  struct NumberedProduct {
    std::int64_t a, b;
    std::int32_t k_steps;
  };

  /// Writes products and vvoo blocks with pointers. `panels` [name]: device memory, in the order of `names_`.
  void resolve(std::span<const std::byte* const> panels);
  KernelParameters parameters() const;
  void clear();

  const Device& device_;
  const Kernel& kernel_;
  const Problem& problem_;
  std::int64_t orbitals_;
  std::unique_ptr<BackwardLaunch> backward_;
  std::vector<ResultSlot> results_;
  LaunchProgram program_;  ///< tasks and CTA tiles; products and vvoo blocks only from resolve() on
  std::vector<NumberedProduct> products_;
  std::vector<std::int64_t> vvoo_;  ///< indices of `names_`; -1: the block vanishes
  std::vector<PanelName> names_, new_names_;
  std::map<PanelName, std::size_t> numbers_;
  std::int64_t panel_bytes_ = 0;
};

}
