#pragma once

#include <cstdint>

#include "cxx/base/vector_clones.hpp"
#include "cxx/cpu/disconnected_rows.hpp"
#include "cxx/cpu/energy_kernel.hpp"

namespace trifuse {

/// Calls functions of `rows` for all elements of a task, in the order of its targets: rows of consecutive c of one
/// (i, j, k, a, b), in parts of `longest` elements, and of 8 elements at the end of a row. `at` is the index of the
/// first element in the targets.
///
///     rows.begin_holes(x, at, count)   before the `count` elements with the holes of x; false leaves them out
///     rows.begin_row(x, at, count)     before the `count` elements with a and b of x; false leaves them out
///     rows.template add<length>(x, at) for the `length` elements that begin at x
///     rows.end_holes(x)                after the elements with the holes of x
template <int longest, typename Rows>
TRIFUSE_ALWAYS_INLINE void visit_rows(const EnergyInput& in, Rows& rows) {
  constexpr int vector = 8;  // row_length() is a multiple of it
  const auto& n = in.extent;
  const std::int64_t row = row_length(n[2]), all = n[0] * n[1] * row;
  Indices x{};
  std::int64_t at = 0;
  for (x[3] = 0; x[3] < n[3]; ++x[3])
    for (x[4] = 0; x[4] < n[4]; ++x[4])
      for (x[5] = 0; x[5] < n[5]; ++x[5]) {
        if (!rows.begin_holes(x, at, all)) {
          at += all;
          continue;
        }
        for (x[0] = 0; x[0] < n[0]; ++x[0])
          for (x[1] = 0; x[1] < n[1]; ++x[1], at += row) {
            if (!rows.begin_row(x, at, row)) continue;
            x[2] = 0;
            for (; x[2] + longest <= row; x[2] += longest) rows.template add<longest>(x, at + x[2]);
            for (; x[2] < row; x[2] += vector) rows.template add<vector>(x, at + x[2]);
          }
        rows.end_holes(x);
      }
}

}
