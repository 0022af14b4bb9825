#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "cxx/base/buffer.hpp"
#include "cxx/cpu/panel_product.hpp"
#include "cxx/cpu/scatter.hpp"
#include "cxx/operands/panel_parts.hpp"
#include "cxx/triples/contraction_list.hpp"
#include "cxx/triples/problem.hpp"

namespace trifuse {

/// A product of a subtask, c[n,m] = sum_x a[m,x] b[n,x], with the panels that are a and b. The panel that has the
/// particle c of the task is a, and this particle is the fastest index of m. So sums go along contiguous memory of the
/// targets.
struct OrderedProduct {
  Panel left, right;
  bool left_is_a;
  bool reversed;  ///< true: m has the order [h3,p3,p2], and the rows of the right panel stand in the order [h3,p2,p3]
  std::int64_t m, n, contracted;
  const double *a, *b;
  std::int64_t a_stride, b_stride;     ///< doubles from one row to the next
  std::array<std::size_t, 6> indices;  ///< of c, from the fastest to the slowest, as positions in Destination::slot

  std::int64_t left_rows() const { return left_is_a ? m : n; }
  std::int64_t right_rows() const { return left_is_a ? n : m; }
  /// Returns the rows of a and of b as they stand after find(). `extent`: in_order() of the extents.
  ProductRows rows_of_a(const Six& extent) const {
    const auto [x0, x1, x2] = std::array{extent[0], extent[1], extent[2]};
    if (reversed) return {a, {x0, x1, x2}, {a_stride * x1, a_stride, a_stride * x1 * x0}};
    return {a, {x0, x1, x2}, {a_stride, a_stride * x0, a_stride * x1 * x0}};
  }
  ProductRows rows_of_b(const Six& extent) const {
    return {b, {extent[3], extent[4], extent[5]}, {b_stride, b_stride * extent[3], b_stride * extent[3] * extent[4]}};
  }
  /// Returns the extents of the indices of c, or their strides in a target. `of_task`: those of a, b, c, i, j, k.
  Six in_order(const Destination& destination, const Six& of_task) const {
    Six found{};
    for (std::size_t q = 0; q < 6; ++q) found[q] = of_task[destination.slot[indices[q]]];
    return found;
  }
};

/// Returns the largest extent of a contracted index of any spin and irrep.
std::int64_t largest_contracted_extent(const TileSpace& tiles);

/// Finds the panels of products on one thread, and owns the memory for parts and for other orders of panels.
class SubtaskProducts {
 public:
  /// `problem` and `panels` must outlive this object.
  SubtaskProducts(const Problem& problem, const PanelParts& panels);
  /// Returns a product of a side; nullopt if the problem has no such panels. It is valid until the next call.
  std::optional<OrderedProduct> find(const Product& product, Side side);
  /// Does the same, with a copy of reversed rows: all rows of `a` stand in the order of m.
  std::optional<OrderedProduct> find_in_order(const Product& product, Side side);

  /// Returns the memory for other orders of panels, doubles.
  static std::int64_t scratch_doubles(const Problem& problem, const TileSpace& tiles);

 private:
  const PanelParts& panels_;
  const TileSpace& space_;
  Buffer reordered_;
  Buffer left_, right_;  ///< parts of panels, if tiles of the panels are larger than those of subtasks
};

}
