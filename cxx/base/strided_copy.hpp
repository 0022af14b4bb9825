#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <type_traits>
#include <utility>

#include "cxx/base/copy_box.hpp"

namespace trifuse {

/// A box of an array with any strides, in elements. It has one to four axes; axes of length 1 in front of them make
/// four.
struct StridedBox {
  std::array<std::int64_t, 4> count{1, 1, 1, 1}, stride{};

  StridedBox(std::span<const std::int64_t> counts, std::span<const std::int64_t> strides) {
    const std::size_t added = count.size() - counts.size();
    std::copy(counts.begin(), counts.end(), count.begin() + static_cast<std::ptrdiff_t>(added));
    std::copy(strides.begin(), strides.end(), stride.begin() + static_cast<std::ptrdiff_t>(added));
  }
};

/// A box is copied in squares of this edge, so that all elements of a cache line are used on both sides.
inline constexpr std::int64_t copied_square = 32;

/// A matrix with any strides: element [y,x] is first[x * x_stride + y * y_stride].
template <typename Number>
struct StridedMatrix {
  const Number* first;
  std::int64_t x_count, x_stride, y_count, y_stride;
};

/// Computes out[y,x] = from[y,x]. The rows of `out` begin `row` elements apart. `ahead`: distance to the matrix that is
/// copied next. The function prefetches its cache lines, because the processor by itself prefetches only few of them.
template <typename Number>
void copy_across(const StridedMatrix<Number>& from, double* out, std::int64_t row, std::ptrdiff_t ahead) {
  constexpr std::int64_t edge = 4, line = 8;
  const auto& [first, x_count, x_stride, y_count, y_stride] = from;
  for (std::int64_t x = 0; x < x_count; ++x) {
    for (std::int64_t y = 0; y < y_count + line - 1; y += line)
      __builtin_prefetch(first + x * x_stride + std::min(y, y_count - 1) * y_stride + ahead);
  }
  std::int64_t y = 0;
  if (y_stride == 1) {
    // Small squares of which all elements are in registers.
    for (; y + edge <= y_count; y += edge) {
      std::int64_t x = 0;
      for (; x + edge <= x_count; x += edge) {
        double numbers[edge][edge];
        for (std::int64_t i = 0; i < edge; ++i)
          for (std::int64_t j = 0; j < edge; ++j)
            numbers[i][j] = static_cast<double>(first[(x + i) * x_stride + y + j]);
        for (std::int64_t j = 0; j < edge; ++j)
          for (std::int64_t i = 0; i < edge; ++i) out[(y + j) * row + x + i] = numbers[i][j];
      }
      for (; x < x_count; ++x)
        for (std::int64_t j = 0; j < edge; ++j)
          out[(y + j) * row + x] = static_cast<double>(first[x * x_stride + y + j]);
    }
  }
  for (; y < y_count; ++y) {
    for (std::int64_t x = 0; x < x_count; ++x)
      out[y * row + x] = static_cast<double>(first[x * x_stride + y * y_stride]);
  }
}

/// Copies a box to `out` in C order. `from`: its first element.
template <typename Number>
void copy_strided(const Number* from, const StridedBox& box, double* out) {
  const auto &count = box.count, &stride = box.stride;
  const std::array<std::int64_t, 4> row = strides_of(count);
  if constexpr (std::is_same_v<Number, double>) {
    if (stride[3] == 1) return copy_box(count, from, stride, out, row, 1.0);
  }
  // The last axis is contiguous in `out`. The axis with the smallest stride is the fastest in memory.
  std::size_t fast = 3;
  for (std::size_t k = 0; k < 3; ++k) {
    if (count[k] > 1 && (count[fast] == 1 || std::abs(stride[k]) < std::abs(stride[fast]))) fast = k;
  }
  if (fast == 3) fast = 2;
  // The other axis with the smaller stride comes last. So a few rows of the last axis are read in the order of the
  // memory.
  std::array<std::size_t, 2> outer{};
  for (std::size_t k = 0, n = 0; k < 3; ++k) {
    if (k != fast) outer[n++] = k;
  }
  if (std::abs(stride[outer[0]]) < std::abs(stride[outer[1]])) std::swap(outer[0], outer[1]);
  const auto [w_axis, x_axis] = outer;
  for (std::int64_t z = 0; z < count[3]; z += copied_square) {
    for (std::int64_t w = 0; w < count[w_axis]; ++w) {
      for (std::int64_t x = 0; x < count[x_axis]; ++x) {
        std::ptrdiff_t ahead = 0;
        if (x + 1 < count[x_axis]) {
          ahead = stride[x_axis];
        } else if (w + 1 < count[w_axis]) {
          ahead = stride[w_axis] - x * stride[x_axis];
        }
        const Number* const first = from + w * stride[w_axis] + x * stride[x_axis] + z * stride[3];
        copy_across<Number>({first, std::min(copied_square, count[3] - z), stride[3], count[fast], stride[fast]},
                            out + w * row[w_axis] + x * row[x_axis] + z, row[fast], ahead);
      }
    }
  }
}

}
