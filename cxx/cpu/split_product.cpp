#include "cxx/cpu/split_product.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "cxx/base/vector_clones.hpp"

namespace trifuse {

namespace {

constexpr std::int64_t indices_of_instruction = 16, indices_of_sum = 64;
constexpr std::int64_t rows_at_once = 64;
/// [number of instructions that add to a sum]: the number that makes up for their truncation.
constexpr std::array<double, indices_of_sum / indices_of_instruction + 1> growth = {1.0, 1.0, 1.0 + 0x1p-23,
                                                                                    1.0 + 0x1p-23, 1.0 + 0x1p-22};
using Rows = std::array<double, rows_at_once>;

/// Returns the exponent of the power of two that makes the largest element of a matrix 2^14 to 2^15; 0 for zeros.
int scale_of(std::int64_t rows, std::int64_t columns, const double* matrix, std::int64_t stride) {
  double largest = 0.0;
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t x = 0; x < columns; ++x) largest = std::max(largest, std::abs(matrix[r * stride + x]));
  }
  if (largest == 0.0 || !std::isfinite(largest)) return 0;
  constexpr int wanted = 15;
  int exponent = 0;
  static_cast<void>(std::frexp(largest, &exponent));
  return wanted - exponent;
}

void split(double scaled, double& hi, double& lo) {
  hi = rounded_to_half(scaled);
  lo = rounded_to_half(scaled - hi);
}

/// Adds the products of one instruction to `rows` sums: sum[m] = truncated(sum[m] + sum_x a[x,m] b[x]).
TRIFUSE_ALWAYS_INLINE void add_products(std::int64_t indices, std::int64_t rows, const double* a, std::int64_t stride,
                                        const double* b, Rows& sum) {
  Rows exact{};
  for (std::int64_t x = 0; x < indices; ++x) {
    for (std::int64_t m = 0; m < rows; ++m) {
      exact[static_cast<std::size_t>(m)] += a[x * stride + m] * b[x];
    }
  }
  for (std::size_t m = 0; m < static_cast<std::size_t>(rows); ++m) sum[m] = truncated_to_float(sum[m] + exact[m]);
}

/// Operands of one column of the product: a[x,m], b[x].
struct Column {
  const double *a_hi, *a_lo, *b_hi, *b_lo;
  std::int64_t stride;  ///< doubles from one x of `a` to the next
};

/// Computes c[m] = sum_x a[x,m] b[x] for up to `rows_at_once` rows.
TRIFUSE_VECTOR_CLONES void multiply_rows(const Column& of, std::int64_t rows, std::int64_t k, double* c) {
  Rows total{};
  for (std::int64_t begin = 0; begin < k; begin += indices_of_sum) {
    Rows sum{};
    const std::int64_t end = std::min(k, begin + indices_of_sum);
    for (std::int64_t x = begin; x < end; x += indices_of_instruction) {
      const std::int64_t indices = std::min(end - x, indices_of_instruction), at = x * of.stride;
      add_products(indices, rows, of.a_hi + at, of.stride, of.b_lo + x, sum);
      add_products(indices, rows, of.a_lo + at, of.stride, of.b_hi + x, sum);
      add_products(indices, rows, of.a_hi + at, of.stride, of.b_hi + x, sum);
    }
    const double factor =
        growth[static_cast<std::size_t>((end - begin + indices_of_instruction - 1) / indices_of_instruction)];
    for (std::size_t m = 0; m < static_cast<std::size_t>(rows); ++m) {
      total[m] = rounded_to_bits<24>(total[m] + sum[m] * factor);
    }
  }
  std::copy(total.begin(), total.begin() + rows, c);
}

}

void SplitProduct::multiply(std::int64_t m, std::int64_t n, std::int64_t k, const double* a, std::int64_t lda,
                            const double* b, std::int64_t ldb, double* c) {
  const int a_scale = scale_of(m, k, a, lda), b_scale = scale_of(n, k, b, ldb);
  for (std::vector<double>* part : {&a_hi_, &a_lo_}) part->resize(static_cast<std::size_t>(m * k));
  for (std::vector<double>* part : {&b_hi_, &b_lo_}) part->resize(static_cast<std::size_t>(n * k));
  for (std::int64_t row = 0; row < m; ++row) {
    for (std::int64_t x = 0; x < k; ++x) {
      const auto to = static_cast<std::size_t>(x * m + row);
      split(std::ldexp(a[row * lda + x], a_scale), a_hi_[to], a_lo_[to]);
    }
  }
  for (std::int64_t row = 0; row < n; ++row) {
    for (std::int64_t x = 0; x < k; ++x) {
      const auto to = static_cast<std::size_t>(row * k + x);
      split(std::ldexp(b[row * ldb + x], b_scale), b_hi_[to], b_lo_[to]);
    }
  }
  for (std::int64_t column = 0; column < n; ++column) {
    for (std::int64_t row = 0; row < m; row += rows_at_once) {
      multiply_rows({a_hi_.data() + row, a_lo_.data() + row, b_hi_.data() + column * k, b_lo_.data() + column * k, m},
                    std::min(rows_at_once, m - row), k, c + column * m + row);
    }
  }
  const int unscale = -(a_scale + b_scale);
  for (std::int64_t at = 0; at < m * n; ++at) c[at] = std::ldexp(c[at], unscale);
}

}
