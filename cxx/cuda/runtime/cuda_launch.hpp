#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "cxx/cuda/runtime/cuda_device.hpp"
#include "cxx/cuda/runtime/launch_program.hpp"
#include "cxx/cuda/schedule/boxes.hpp"
#include "cxx/cuda/schedule/task_program.hpp"
#include "cxx/plan/executor.hpp"
#include "cxx/triples/problem.hpp"

namespace trifuse::gpu {

/// Tasks that will go to a device together, in one launch of one kernel.
class PendingLaunch {
 public:
  /// All of them outlive it. `orbitals`: of the tile space that the programs refer to.
  PendingLaunch(const Device& device, const Kernel& kernel, const Problem& problem, std::int64_t orbitals);

  const Kernel& kernel() const { return kernel_; }
  bool empty() const { return pieces_.empty(); }

  /// Adds a task, whose energies [omega2] will be added to `energies`, and returns the operations that it takes; or
  /// leaves everything as it was and returns nothing, where others are waiting and panels of all together would take
  /// more than `most_bytes` or items are too many.
  std::optional<double> add(const TaskProgram& program, SpinCase spin_case, std::span<TaskEnergy> energies,
                            BoxCover& cover, std::int64_t most_bytes);

  /// Runs them, waits, and is empty again. Returns the number of items.
  std::int64_t run(LaunchBuffers& buffers);

 private:
  struct Piece {
    SpinCase spin_case;
    std::span<TaskEnergy> energies;
  };
  /// Panels by their number in `names_`.
  struct NumberedPhase {
    std::int64_t a, b;
    std::int32_t steps;
  };

  /// Puts the panels in the place of their numbers.
  void resolve(std::span<const double* const> panels);
  Work work() const;
  void add_energy(SpinCase spin_case, const double* sum, TaskEnergy& energy) const;
  void clear();

  const Device& device_;
  const Kernel& kernel_;
  const Problem& problem_;
  std::int64_t orbitals_;
  std::vector<Piece> pieces_;
  LaunchProgram program_;  ///< tasks and items at once, the others when panels have their places
  std::vector<NumberedPhase> phases_;
  std::vector<std::int64_t> pairs_;  ///< -1: zeros
  std::vector<PanelName> names_, new_names_;
  std::map<PanelName, std::size_t> numbers_;
  std::int64_t panel_bytes_ = 0;
};

}  // namespace trifuse::gpu
