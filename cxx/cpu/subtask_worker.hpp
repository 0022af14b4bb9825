#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cxx/base/buffer.hpp"
#include "cxx/cpu/energy_kernel.hpp"
#include "cxx/cpu/scatter.hpp"
#include "cxx/operands/panel_parts.hpp"
#include "cxx/triples/contraction_list.hpp"
#include "cxx/triples/problem.hpp"

namespace trifuse {

/// Computes pieces of tasks, each small enough for the cache of a core: what one thread needs for it. Matrix products
/// by BLAS into the six-index targets, then energies.
class SubtaskWorker {
 public:
  /// Both outlive it.
  SubtaskWorker(const Problem& problem, const PanelParts& panels);

  /// Computes every `step`-th of these pieces, from `first` on. While one is computed the panels of the next may come
  /// from elsewhere. `energies`: [omega2, piece], omega2 fastest.
  void execute(std::span<const Task> subtasks, std::size_t first, std::size_t step, std::span<TaskEnergy> energies);

  /// Floating-point operations of matrix products so far.
  double operations() const { return operations_; }
  /// Doubles of scratch with pieces of these tiles.
  static std::int64_t scratch_doubles(const Problem& problem, const TileSpace& tiles);

 private:
  /// Writes the contraction list of the piece after this one, and asks for its panels.
  void prepare_next(const Task& subtask);
  /// With its contraction list written.
  void execute_subtask(const Task& subtask, std::span<TaskEnergy> energies);
  double* target(int t, Side side);
  void build_targets(Side side);
  void multiply(const Product& product, Side side);
  const double* reorder_right(const Product& product, const Panel& right, std::int64_t contracted);
  void copy_equivalent_target(const EquivalentTarget& equivalent, Side side);
  void resolve_singles(const Task& task);

  const Problem& problem_;
  const PanelParts& panels_;
  const TileSpace& space_;
  std::size_t target_size_;
  Buffer targets_, product_, reordered_;
  Buffer left_, right_, vvoo_scratch_;  ///< panels of a finer cut than the store's
  ContractionList contractions_, next_contractions_;
  EnergyInput input_;
  std::vector<PanelHold> vvoo_blocks_;
  Six extent_{}, stride_{};  ///< by slot: a, b, c, i, j, k
  std::int64_t runs_ = 0;    ///< of c in a target
  std::array<bool, 6> written_{};
  double operations_ = 0.0;
};

}  // namespace trifuse
