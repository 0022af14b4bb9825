#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "cxx/base/buffer.hpp"
#include "cxx/cpu/scatter.hpp"

namespace trifuse {

/// The rows of a panel, [x2,x1,x0,x] with the contracted index x last.
struct ProductRows {
  const double* data;
  std::array<std::int64_t, 3> extent;  ///< of x0, x1, x2
  std::array<std::int64_t, 3> stride;  ///< doubles from one x0, x1 or x2 to the next

  std::int64_t count() const { return extent[0] * extent[1] * extent[2]; }
};

/// An array of six indices to which a product is added.
struct ProductTarget {
  double* data;
  /// Doubles from one element to the next, for x0, x1, x2 of the rows of `a`, then for those of `b`. Rows of x0 of `a`
  /// are contiguous and have row_length() doubles: step[0] is 1.
  Six step;
  double sign;
  bool assign;  ///< true: the target is overwritten, and the elements behind the ends of its rows become zero
};

/// A matrix in memory. One of its steps is 1.
struct MatrixView {
  const double* data;
  std::int64_t rows, columns;
  std::int64_t row_step, column_step;  ///< doubles from one row, or from one column, to the next
};

/// Multiplies panels and adds the products to targets, on one thread. DGEMM would pack both panels for each product and
/// write the product to memory, from where it would have to be added. Here x0 of `a` is the index of the vectors, which
/// is the fastest one of the targets; so sums go from registers to the targets, and only `a` is packed.
///
///     for all blocks of x that fit, for all blocks of rows of a that fit into the cache of the second level
///       pack: a [strips of 4 to 16 x0, x, x0]
///       for all chunks of rows of b                 stays in the cache of the first level, with one strip of a
///         for all strips of a
///           for all tiles of the chunk              registers: sum[row of b, x0] += a[x, x0] b[row, x]
///             target[row of b, x1, x2, x0] += sign * sum
///
/// The products of an element are added in the order of x, so its bits do not depend on tiles, and with fused
/// multiplications they do not depend on the vectors of the processor.
class PanelProduct {
 public:
  /// A part of a row x0 of `a`, packed [x, lanes].
  struct Strip {
    std::int64_t lanes, count;       ///< the row has `count` elements in the strip; the other lanes are zero
    std::int64_t behind;             ///< doubles of the target's row behind the last lane
    std::array<std::int64_t, 3> at;  ///< x0, x1, x2 of the first element
  };

  /// Returns the widths of vectors that this processor has, bits, the widest first. Code for 128 is always there.
  static std::span<const int> vector_widths();
  /// `scratch`: see scratch_doubles().
  explicit PanelProduct(std::int64_t scratch, int vector_width = vector_widths().front());
  /// Computes target[b's rows, a's rows] += sign * sum_x a[row, x] b[row, x] for all targets. `contracted`: extent of
  /// x. A target that is overwritten must not overlap others.
  void add(const ProductRows& a, const ProductRows& b, std::int64_t contracted, std::span<const ProductTarget> targets);
  /// Computes out[row, x] = sum_k s[row, k] p[k, x] for x < `columns`. `p`: has a row for each column of s. Rows of
  /// `out` have row_length(columns) doubles. Needs the scratch of scratch_doubles(1, columns, p.count()).
  void multiply(const MatrixView& s, const ProductRows& p, std::int64_t columns, double* out);
  /// Returns the doubles for packed strips. `rows`: rows of x0 of the largest `a`; `row`: elements of the longest one.
  /// `contracted`: largest extent of x.
  static std::int64_t scratch_doubles(std::int64_t rows, std::int64_t row, std::int64_t contracted);

 private:
  int vector_width_;
  Buffer packed_;
  std::vector<Strip> strips_;
  std::vector<double> chunk_;          ///< [x, row of b] rows of b whose x are not contiguous
  std::vector<std::int64_t> rows_;     ///< [row of b] its offset in the panel, doubles
  std::vector<std::int64_t> summed_;   ///< [row of p] its offset in the panel, doubles
  std::vector<std::int64_t> offsets_;  ///< [target, row of b] offsets in the target, doubles
};

}
