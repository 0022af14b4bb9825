#pragma once

#include <array>
#include <cstdint>

namespace trifuse {

/// Six extents or strides, one for each index of a rank-6 array.
using Six = std::array<std::int64_t, 6>;

/// Returns the strides of an array [x5,x4,x3,x2,x1,x0] without gaps; extent[q] is the extent of xq.
constexpr Six dense_strides(const Six& extent) {
  Six stride{1};
  for (std::size_t d = 1; d < 6; ++d) stride[d] = stride[d - 1] * extent[d - 1];
  return stride;
}

/// Returns the strides of a, b, c, i, j, k in a target [i,j,k,a,b,c]. `extent`: the extents of a, b, c, i, j, k. `row`:
/// number of doubles from one b to the next, at least the extent of c.
constexpr Six target_strides(const Six& extent, std::int64_t row) {
  const auto [a, b, c, i, j, k] = extent;
  return {b * row, row, 1, a * b * row * k * j, a * b * row * k, a * b * row};
}

/// Computes target[sum_q x_q to_q] += sign * source[sum_q x_q from_q] for all x_q < extent_q. With `assign` it
/// overwrites the target instead.
///
/// `from`, `to`: strides of the six indices in the source and in the target, doubles. from_0 must be 1. The function is
/// fast if to_0 is 1 too, and slower if another stride of the target is 1.
void scatter(const double* source, const Six& extent, const Six& from, const Six& to, double sign, bool assign,
             double* target);

/// Returns the length in memory of a row of `n` elements, a multiple of a full vector of 8 doubles.
constexpr std::int64_t row_length(std::int64_t n) {
  return (n + 7) / 8 * 8;
}

/// Does the same for a target with to_0 = 1 whose rows of x_0 have row_length(extent_0) doubles. Full vectors make it
/// faster. With `assign` it makes the elements of a row behind x_0 = extent_0 zero, else it adds zero to them.
void scatter_padded_rows(const double* source, const Six& extent, const Six& from, const Six& to, double sign,
                         bool assign, double* target);

}
