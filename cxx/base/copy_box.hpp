#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace trifuse {

/// Copies a box between two arrays of rank 4: to[w,x,y,z] = sign * from[w,x,y,z] for `count` values of each index.
/// `from` and `to` point to the first element of the box. The strides are in elements.
inline void copy_box(const std::array<std::int64_t, 4>& count, const double* from,
                     const std::array<std::int64_t, 4>& from_stride, double* to,
                     const std::array<std::int64_t, 4>& to_stride, double sign) {
  const bool runs = from_stride[3] == 1 && to_stride[3] == 1 && sign == 1.0;
  for (std::int64_t w = 0; w < count[0]; ++w) {
    for (std::int64_t x = 0; x < count[1]; ++x) {
      for (std::int64_t y = 0; y < count[2]; ++y) {
        const double* source = from + w * from_stride[0] + x * from_stride[1] + y * from_stride[2];
        double* target = to + w * to_stride[0] + x * to_stride[1] + y * to_stride[2];
        if (runs) {
          std::copy_n(source, count[3], target);
        } else {
          for (std::int64_t z = 0; z < count[3]; ++z) target[z * to_stride[3]] = sign * source[z * from_stride[3]];
        }
      }
    }
  }
}

/// Copies a part of a matrix: to[row,column] = from[row,column] for `rows` rows and `columns` columns. `from_row` and
/// `to_row` are the lengths of a whole row of the two matrices, in elements.
inline void copy_matrix(std::int64_t rows, std::int64_t columns, const double* from, std::int64_t from_row, double* to,
                        std::int64_t to_row) {
  for (std::int64_t row = 0; row < rows; ++row) std::copy_n(from + row * from_row, columns, to + row * to_row);
}

/// Returns the strides, in elements, of an array of shape `count` in C order.
inline std::array<std::int64_t, 4> strides_of(const std::array<std::int64_t, 4>& count) {
  return {count[1] * count[2] * count[3], count[2] * count[3], count[3], 1};
}

}
