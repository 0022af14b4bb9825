#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "cxx/base/buffer.hpp"
#include "cxx/cpu/scatter.hpp"
#include "cxx/operands/panel_parts.hpp"
#include "cxx/triples/contraction_list.hpp"
#include "cxx/triples/problem.hpp"

namespace trifuse {

/// The tensor in memory of a product of a subtask, c[n,m] = sum_x a[m,x] b[n,x], with the panels that are a and b. The
/// panel that has the particle c of the task is a. If possible, c is its fastest index. Then adding to the targets goes
/// along contiguous memory.
struct OrderedProduct {
  Panel left, right;
  bool left_is_a;
  bool reversed;  ///< true: the rows of the right panel are copied in the order [h3,p3,p2]
  std::int64_t m, n, contracted;
  const double *a, *b;
  std::int64_t a_stride, b_stride;     ///< doubles from one row to the next
  std::array<std::size_t, 6> indices;  ///< of c, from the fastest to the slowest, as positions in Destination::slot

  std::int64_t left_rows() const { return left_is_a ? m : n; }
  std::int64_t right_rows() const { return left_is_a ? n : m; }
  /// Returns the extents of the indices of c, or their strides in a target. `of_task`: those of a, b, c, i, j, k.
  Six in_order(const Destination& destination, const Six& of_task) const {
    Six found{};
    for (std::size_t q = 0; q < 6; ++q) found[q] = of_task[destination.slot[indices[q]]];
    return found;
  }
};

/// Finds the panels of products on one thread, and owns the memory for parts and for other orders of panels.
class SubtaskProducts {
 public:
  /// `problem` and `panels` must outlive this object.
  SubtaskProducts(const Problem& problem, const PanelParts& panels);
  /// Returns a product of a side; nullopt if the problem has no such panels. It is valid until the next call.
  std::optional<OrderedProduct> find(const Product& product, Side side);

  /// Returns the memory for other orders of panels, doubles.
  static std::int64_t scratch_doubles(const Problem& problem, const TileSpace& tiles);

 private:
  const double* reverse_right(const Product& product, const Panel& right, std::int64_t contracted);

  const PanelParts& panels_;
  const TileSpace& space_;
  Buffer reordered_;
  Buffer left_, right_;  ///< parts of panels, if tiles of the panels are larger than those of subtasks
};

}
