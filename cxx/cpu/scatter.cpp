#include "cxx/cpu/scatter.hpp"

#include <algorithm>
#include <cstddef>

#include "cxx/base/vector_clones.hpp"

namespace trifuse {

namespace {

template <bool assign>
TRIFUSE_ALWAYS_INLINE void put(double& element, double value) {
  element = assign ? value : element + value;
}

/// Copies if index 0 has stride 1 in the source and in the target.
template <bool assign>
TRIFUSE_ALWAYS_INLINE void contiguous(const double* source, const Six& n, const Six& from, const Six& to, double sign,
                                      double* target) {
  for (std::int64_t x5 = 0; x5 < n[5]; ++x5)
    for (std::int64_t x4 = 0; x4 < n[4]; ++x4)
      for (std::int64_t x3 = 0; x3 < n[3]; ++x3)
        for (std::int64_t x2 = 0; x2 < n[2]; ++x2) {
          const double* s = source + x2 * from[2] + x3 * from[3] + x4 * from[4] + x5 * from[5];
          double* t = target + x2 * to[2] + x3 * to[3] + x4 * to[4] + x5 * to[5];
          for (std::int64_t x1 = 0; x1 < n[1]; ++x1, s += from[1], t += to[1]) {
            const double* __restrict row = s;
            double* __restrict target_row = t;
            for (std::int64_t x = 0; x < n[0]; ++x) put<assign>(target_row[x], sign * row[x]);
          }
        }
}

/// Copies if another index, `fast`, is the fastest one of the target. Squares of eight by eight elements keep source
/// and target in the first-level cache.
template <bool assign>
TRIFUSE_ALWAYS_INLINE void transposed(const double* source, const Six& n, const Six& from, const Six& to,
                                      std::size_t fast, double sign, double* target) {
  std::array<std::size_t, 4> rest{};
  for (std::size_t d = 1, r = 0; d < 6; ++d) {
    if (d != fast) rest[r++] = d;
  }
  constexpr std::int64_t edge = 8;
  for (std::int64_t w = 0; w < n[rest[3]]; ++w)
    for (std::int64_t v = 0; v < n[rest[2]]; ++v)
      for (std::int64_t u = 0; u < n[rest[1]]; ++u)
        for (std::int64_t t = 0; t < n[rest[0]]; ++t) {
          const double* s = source + t * from[rest[0]] + u * from[rest[1]] + v * from[rest[2]] + w * from[rest[3]];
          double* d = target + t * to[rest[0]] + u * to[rest[1]] + v * to[rest[2]] + w * to[rest[3]];
          for (std::int64_t x0 = 0; x0 < n[0]; x0 += edge)
            for (std::int64_t y0 = 0; y0 < n[fast]; y0 += edge) {
              const double* const from_here = s + x0 + y0 * from[fast];
              double* const to_here = d + x0 * to[0] + y0 * to[fast];
              if (x0 + edge <= n[0] && y0 + edge <= n[fast] && to[fast] == 1) {
                for (std::int64_t x = 0; x < edge; ++x)
#pragma omp simd simdlen(8)
                  for (std::int64_t y = 0; y < edge; ++y) {
                    put<assign>(to_here[x * to[0] + y], sign * from_here[x + y * from[fast]]);
                  }
                continue;
              }
              for (std::int64_t x = 0; x < std::min(edge, n[0] - x0); ++x)
                for (std::int64_t y = 0; y < std::min(edge, n[fast] - y0); ++y) {
                  put<assign>(to_here[x * to[0] + y * to[fast]], sign * from_here[x + y * from[fast]]);
                }
            }
        }
}

template <bool assign>
TRIFUSE_ALWAYS_INLINE void scatter_as(const double* source, const Six& n, const Six& from, const Six& to, double sign,
                                      double* target) {
  if (to[0] == 1) {
    contiguous<assign>(source, n, from, to, sign, target);
    return;
  }
  std::size_t fast = 1;
  for (std::size_t d = 1; d < 6; ++d) {
    if (to[d] < to[fast]) fast = d;
  }
  transposed<assign>(source, n, from, to, fast, sign, target);
}

/// Copies the parts of rows that begin at x_0 = `begin`, `length` elements of the target, of which the source has
/// `count`.
template <bool assign, int length>
TRIFUSE_ALWAYS_INLINE void part_of_rows(const double* source, const Six& n, const Six& from, const Six& to, double sign,
                                        std::int64_t begin, std::int64_t count, double* target) {
  for (std::int64_t x5 = 0; x5 < n[5]; ++x5)
    for (std::int64_t x4 = 0; x4 < n[4]; ++x4)
      for (std::int64_t x3 = 0; x3 < n[3]; ++x3)
        for (std::int64_t x2 = 0; x2 < n[2]; ++x2) {
          const double* s = source + begin + x2 * from[2] + x3 * from[3] + x4 * from[4] + x5 * from[5];
          double* t = target + begin + x2 * to[2] + x3 * to[3] + x4 * to[4] + x5 * to[5];
          for (std::int64_t x1 = 0; x1 < n[1]; ++x1, s += from[1], t += to[1]) {
            const double* __restrict row = s;
            double* __restrict target_row = t;
#pragma omp simd simdlen(8)
            for (int x = 0; x < length; ++x) put<assign>(target_row[x], x < count ? sign * row[x] : 0.0);
          }
        }
}

template <bool assign>
TRIFUSE_ALWAYS_INLINE void padded_rows(const double* source, const Six& n, const Six& from, const Six& to, double sign,
                                       double* target) {
  constexpr int longest = 16, vector = 8;
  const std::int64_t row = row_length(n[0]);
  std::int64_t x = 0;
  for (; x + longest <= row; x += longest) {
    part_of_rows<assign, longest>(source, n, from, to, sign, x, n[0] - x, target);
  }
  if (x < row) part_of_rows<assign, vector>(source, n, from, to, sign, x, n[0] - x, target);
}

TRIFUSE_VECTOR_CLONES
void add_padded_rows(const double* source, const Six& n, const Six& from, const Six& to, double sign, double* target) {
  padded_rows<false>(source, n, from, to, sign, target);
}

TRIFUSE_VECTOR_CLONES
void write_padded_rows(const double* source, const Six& n, const Six& from, const Six& to, double sign,
                       double* target) {
  padded_rows<true>(source, n, from, to, sign, target);
}

TRIFUSE_VECTOR_CLONES
void add(const double* source, const Six& n, const Six& from, const Six& to, double sign, double* target) {
  scatter_as<false>(source, n, from, to, sign, target);
}

TRIFUSE_VECTOR_CLONES
void write(const double* source, const Six& n, const Six& from, const Six& to, double sign, double* target) {
  scatter_as<true>(source, n, from, to, sign, target);
}

}

void scatter(const double* source, const Six& extent, const Six& from, const Six& to, double sign, bool assign,
             double* target) {
  if (assign) {
    write(source, extent, from, to, sign, target);
  } else {
    add(source, extent, from, to, sign, target);
  }
}

void scatter_padded_rows(const double* source, const Six& extent, const Six& from, const Six& to, double sign,
                         bool assign, double* target) {
  // The loops follow the memory of the target, because the source is the part of a product that is still in the cache.
  std::array<std::size_t, 6> order = {0, 1, 2, 3, 4, 5};
  std::sort(order.begin() + 1, order.end(), [&](std::size_t x, std::size_t y) { return to[x] < to[y]; });
  Six n{}, step{}, target_step{};
  for (std::size_t d = 0; d < 6; ++d) {
    n[d] = extent[order[d]];
    step[d] = from[order[d]];
    target_step[d] = to[order[d]];
  }
  if (assign) {
    write_padded_rows(source, n, step, target_step, sign, target);
  } else {
    add_padded_rows(source, n, step, target_step, sign, target);
  }
}

}
