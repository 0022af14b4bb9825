#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "cxx/base/vector_clones.hpp"
#include "cxx/cpu/disconnected_rows.hpp"
#include "cxx/cpu/energy_kernel.hpp"

namespace trifuse {

/// Returns how many elements of a task have these three holes, or particles, in any order, for the one of them whose
/// indices ascend where tiles are equal, and 0 for the others. `equal`: true if x and y, or y and z, have one tile.
TRIFUSE_ALWAYS_INLINE double orders_of(const std::array<bool, 2>& equal, std::int64_t x, std::int64_t y,
                                       std::int64_t z) {
  if ((equal[0] && x > y) || (equal[1] && y > z)) return 0.0;
  const bool same_xy = equal[0] && x == y, same_yz = equal[1] && y == z;
  const double orders = equal[0] && equal[1] ? 6.0 : equal[0] || equal[1] ? 2.0 : 1.0;
  if (same_xy && same_yz) return 1.0;
  return same_xy || same_yz ? orders / 2.0 : orders;
}

/// Writes how many elements of a task have the orbitals of each element of a row that begins at `x`, see orders_of().
/// `of_holes`: of its holes.
template <int length>
TRIFUSE_ALWAYS_INLINE void count_orders(const EnergyInput& in, double of_holes, const Indices& x,
                                        double (&orders)[length]) {
  const auto& equal = in.equal_particles;
  std::fill_n(orders, length, of_holes * orders_of(equal, x[0], x[1], x[1] + 1));
  if (!equal[1] || x[2] > x[1]) return;
  const std::int64_t before = x[1] - x[2];
  std::fill_n(orders, std::min<std::int64_t>(before, length), 0.0);
  if (before < length) orders[before] = of_holes * orders_of(equal, x[0], x[1], x[1]);
}

/// Where the rows of all targets are in their arrays, for the holes of an element.
class RowPlaces {
 public:
  TRIFUSE_ALWAYS_INLINE void set_holes(const EnergyInput& in, const Indices& x) {
    for (std::size_t t = 0; t < of_holes_.size(); ++t)
      of_holes_[t] = x[3] * in.step[t][3] + x[4] * in.step[t][4] + x[5] * in.step[t][5];
  }
  /// Returns the place of the element `x` of a target, doubles.
  TRIFUSE_ALWAYS_INLINE std::int64_t operator()(const EnergyInput& in, std::size_t target, const Indices& x) const {
    return of_holes_[target] + x[0] * in.step[target][0] + x[1] * in.step[target][1] + x[2];
  }

 private:
  std::array<std::int64_t, 6> of_holes_{};
};

/// Which elements visit_rows() visits: all, or of those with the same orbitals in another order about one, see
/// orders_of(). In the last case a row has elements of which there are 0, too.
enum class Visited { all, ascending };

/// Calls functions of `rows` for the elements of a task, in the order of its targets: rows of consecutive c of one
/// (i, j, k, a, b), in parts of `longest` elements, and of 8 elements at the end of a row. `at` is the index of the
/// first element in the targets.
///
///     rows.begin_holes(x, at, count)   before the `count` elements with the holes of x; false leaves them out
///     rows.begin_row(x, at, count)     before the `count` elements with a and b of x; false leaves them out
///     rows.template add<length>(x, at) for the `length` elements that begin at x
///     rows.end_holes(x)                after the elements with the holes of x
template <int longest, Visited visited, typename Rows>
TRIFUSE_ALWAYS_INLINE void visit_rows(const EnergyInput& in, Rows& rows) {
  constexpr int vector = 8;  // row_length() is a multiple of it
  constexpr bool ascending = visited == Visited::ascending;
  const auto& n = in.extent;
  const std::int64_t row = row_length(n[2]), all = n[0] * n[1] * row;
  Indices x{};
  std::int64_t at = 0;
  for (x[3] = 0; x[3] < n[3]; ++x[3])
    for (x[4] = 0; x[4] < n[4]; ++x[4])
      for (x[5] = 0; x[5] < n[5]; ++x[5]) {
        if ((ascending && orders_of(in.equal_holes, x[3], x[4], x[5]) == 0.0) || !rows.begin_holes(x, at, all)) {
          at += all;
          continue;
        }
        for (x[0] = 0; x[0] < n[0]; ++x[0])
          for (x[1] = 0; x[1] < n[1]; ++x[1], at += row) {
            if ((ascending && in.equal_particles[0] && x[0] > x[1]) || !rows.begin_row(x, at, row)) continue;
            x[2] = ascending && in.equal_particles[1] ? x[1] / vector * vector : 0;
            for (; x[2] + longest <= row; x[2] += longest) rows.template add<longest>(x, at + x[2]);
            for (; x[2] < row; x[2] += vector) rows.template add<vector>(x, at + x[2]);
          }
        rows.end_holes(x);
      }
}

}
