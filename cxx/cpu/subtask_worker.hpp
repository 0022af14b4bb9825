#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cxx/base/buffer.hpp"
#include "cxx/cpu/energy_kernel.hpp"
#include "cxx/cpu/panel_product.hpp"
#include "cxx/cpu/scatter.hpp"
#include "cxx/cpu/split_product.hpp"
#include "cxx/cpu/subtask_adjoint.hpp"
#include "cxx/cpu/subtask_products.hpp"
#include "cxx/operands/panel_parts.hpp"
#include "cxx/triples/contraction_list.hpp"
#include "cxx/triples/precision.hpp"
#include "cxx/triples/problem.hpp"

namespace trifuse {

/// Computes subtasks on one thread and owns the scratch memory for them. A subtask is a part of a task that fits into
/// the cache of a core. PanelProduct computes the matrix products and adds them to the targets, `sum_energies` sums the
/// energies.
class SubtaskWorker {
 public:
  /// `problem` and `panels` must outlive the worker. `precision`: how matrix products are computed; `mixed` is
  /// emulated.
  SubtaskWorker(const Problem& problem, const PanelParts& panels, Precision precision);

  /// Computes the subtasks number `first`, `first` + `step`, `first` + 2 `step`, ... of the list and writes their
  /// energies, energies[subtask, omega2], hartree. While a subtask is computed, the panels of the next one are
  /// prefetched from other ranks. `sums`: receive the derivatives of the problem; null if there are none.
  void execute(std::span<const Task> subtasks, std::size_t first, std::size_t step, std::span<TaskEnergy> energies,
               TaskSums* sums);

  /// Returns the floating-point operations of the matrix products of all calls.
  double operations() const { return operations_ + (adjoint_ ? adjoint_->operations() : 0.0); }
  /// Returns the scratch memory for subtasks of these tiles, without copies of parts of panels, doubles.
  static std::int64_t scratch_doubles(const Problem& problem, const TileSpace& tiles);

 private:
  /// Writes the contraction list of the next subtask to `next_contractions_` and prefetches its panels.
  void prepare_next(const Task& subtask);
  /// Computes one subtask, whose contraction list is in `contractions_`.
  void execute_subtask(const Task& subtask, std::span<TaskEnergy> energies, TaskSums* sums);
  /// Returns target number `t` of a side, [i,j,k,a,b,c].
  double* target(int t, Side side);
  /// Computes all targets of a side.
  void build_targets(Side side);
  /// Rounds a target to the format of the sums in the GPU kernels of mixed precision.
  void round_target(double* target);
  /// Computes a product and adds it to its targets.
  void multiply(const Product& product, Side side);
  /// The same in mixed precision, which scales whole panels.
  void multiply_mixed(const Product& product, Side side);
  void count_operations(const OrderedProduct& found);
  /// Adds `product_` to the targets of a product. `in_product`: its strides, in the order of `found.indices`.
  void add_to_targets(const Product& product, Side side, const OrderedProduct& found, const Six& in_product);
  /// Makes the elements behind the ends of a target's rows zero.
  void clear_padding(double* target);
  /// Returns true if the energies read the source in place of a target. Derivatives need all targets.
  bool reads_source(const EquivalentTarget& equivalent) const;
  void copy_equivalent_target(const EquivalentTarget& equivalent, Side side);
  /// Writes to `input_` where the energies find all targets.
  void locate_targets();
  /// Fills the terms of S and of C3 in `input_`. The vvoo blocks stay in memory until `vvoo_blocks_` is cleared.
  void resolve_singles(const Task& task);

  const Problem& problem_;
  const std::vector<double> omega2_;  ///< of the quotients, hartree
  const PanelParts& panels_;
  const Precision precision_;
  const TileSpace& space_;
  std::size_t target_size_;
  Buffer targets_, product_;
  SubtaskProducts products_;
  Buffer vvoo_scratch_;  ///< parts of vvoo blocks, if tiles of the panels are larger than those of subtasks
  ContractionList contractions_, next_contractions_;
  EnergyInput input_;
  std::vector<SinglesOrigin> singles_;  ///< of `input_.left[0].singles`
  std::vector<PanelGuard> vvoo_blocks_;
  Six extent_{}, stride_{};  ///< extents and strides of a, b, c, i, j, k in a target
  std::int64_t rows_ = 0;    ///< number of rows of c in a target
  std::array<bool, 6> written_{};
  PanelProduct panel_product_;
  std::vector<ProductTarget> product_targets_;
  SplitProduct split_product_;
  std::optional<SubtaskAdjoint> adjoint_;  ///< nullopt: no derivatives
  double operations_ = 0.0;
};

}
