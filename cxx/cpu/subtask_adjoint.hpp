#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cxx/base/buffer.hpp"
#include "cxx/cpu/energy_kernel.hpp"
#include "cxx/cpu/panel_product.hpp"
#include "cxx/cpu/scatter.hpp"
#include "cxx/cpu/seed_kernel.hpp"
#include "cxx/cpu/subtask_products.hpp"
#include "cxx/operands/panel_parts.hpp"
#include "cxx/plan/task_sums.hpp"
#include "cxx/triples/contraction_list.hpp"
#include "cxx/triples/problem.hpp"

namespace trifuse {

/// A disconnected term of a subtask whose vvoo block is not zero: the term behind the singles n of the first left side
/// in EnergyInput.
struct SinglesOrigin {
  const DisconnectedTerm* term;
  std::size_t set;
};

/// A subtask whose energies are computed.
struct FinishedSubtask {
  const Task& task;
  const ContractionList& contractions;
  const EnergyInput& input;
  std::span<const SinglesOrigin> singles;
  std::array<double*, 6> left, right;  ///< the targets of both sides, which the seeds replace
  Six stride;                          ///< of a, b, c, i, j, k in a target
  double* product;                     ///< scratch for a product
  SubtaskProducts& products;
};

/// The backward pass of subtasks on one thread. The seeds of a subtask replace its targets. For each product c = L R^T
/// of the energy, the seeds G are gathered in the order of c. The derivatives by the panels are G R and G^T L.
class SubtaskAdjoint {
 public:
  /// `problem` and `panels` must outlive this object.
  SubtaskAdjoint(const Problem& problem, const PanelParts& panels);
  /// Adds the derivatives of a subtask, see DerivativeSums. Each element is rounded once, so that the bits depend only
  /// on the subtasks.
  void add(const FinishedSubtask& subtask, TaskSums& sums);

  /// Returns the floating-point operations of the matrix products of all calls.
  double operations() const { return operations_; }
  /// Returns the scratch memory for subtasks of these tiles, doubles.
  static std::int64_t scratch_doubles(const Problem& problem, const TileSpace& tiles);

 private:
  /// Makes room for the derivatives by the small operands, and sets them to zero.
  void prepare_seeds(const FinishedSubtask& subtask);
  void add_small_sums(const FinishedSubtask& subtask, TaskSums& sums);
  /// Adds the seeds of a target to those of the target from which it was copied.
  void return_to_source(const FinishedSubtask& subtask, const EquivalentTarget& equivalent, Side side) const;
  void multiply(const FinishedSubtask& subtask, const Product& product, Side side, TaskSums& sums);
  /// Computes the derivatives by a panel of `found`, in the columns that are wanted, and adds them. `extent`: see
  /// OrderedProduct::in_order().
  void multiply_panel(const OrderedProduct& found, const Six& extent, const PanelKey& key, const double* seeds,
                      TaskSums& sums);

  const Problem& problem_;
  const PanelParts& panels_;
  const TileSpace& space_;
  Buffer small_, panel_;
  PanelProduct panel_product_;
  SeedOutput output_;
  double operations_ = 0.0;
};

}
