#pragma once

#include <array>
#include <cstdint>

namespace trifuse {

/// Six extents or strides, one for each free index.
using Six = std::array<std::int64_t, 6>;

/// Strides of an array whose dimensions follow each other without gaps, the first the fastest.
constexpr Six dense_strides(const Six& extent) {
  Six stride{1};
  for (std::size_t d = 1; d < 6; ++d) stride[d] = stride[d - 1] * extent[d - 1];
  return stride;
}

/// Strides of a, b, c, i, j, k in a target [c, b, a, k, j, i], c fastest in runs of `run` doubles.
constexpr Six target_strides(const Six& extent, std::int64_t run) {
  const auto [a, b, c, i, j, k] = extent;
  return {b * run, run, 1, a * b * run * k * j, a * b * run * k, a * b * run};
}

/// target[sum_q x_q to_q] (+)= sign * source[sum_q x_q from_q], from_0 = 1. With `assign` the target is written, not
/// added to. Fast when to_0 is 1, acceptable when another one is.
void scatter(const double* source, const Six& extent, const Six& from, const Six& to, double sign, bool assign,
             double* target);

}  // namespace trifuse
