#include "cxx/cpu/split_product.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "cxx/base/blas.hpp"

namespace trifuse::testing {
namespace {

/// The FP16 number with these bits, by the definition of the format. `bits`: sign 0, not infinite and not NaN.
double half_of_bits(std::uint32_t bits) {
  const int exponent = static_cast<int>(bits >> 10), fraction = static_cast<int>(bits & 0x3ffu);
  return exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
}
constexpr std::uint32_t largest_half = 0x7bff;

TEST(Half, NumbersOfTheFormatStay) {
  for (std::uint32_t bits = 0; bits <= largest_half; ++bits) {
    const double x = half_of_bits(bits);
    ASSERT_EQ(rounded_to_half(x), x);
    ASSERT_EQ(rounded_to_half(-x), -x);
  }
}

TEST(Half, OtherNumbersGoToTheNearestOneAndTiesToEven) {
  for (std::uint32_t bits = 0; bits < largest_half; ++bits) {
    const double below = half_of_bits(bits), above = half_of_bits(bits + 1), middle = (below + above) / 2.0;
    const double even = bits % 2 == 0 ? below : above;
    for (const double sign : {1.0, -1.0}) {
      ASSERT_EQ(rounded_to_half(sign * middle), sign * even) << bits;
      ASSERT_EQ(rounded_to_half(sign * std::nextafter(middle, 0.0)), sign * below) << bits;
      ASSERT_EQ(rounded_to_half(sign * std::nextafter(middle, 1e6)), sign * above) << bits;
    }
  }
}

TEST(Half, LargeNumbersAreInfinite) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(rounded_to_half(std::nextafter(65520.0, 0.0)), 65504.0);
  EXPECT_EQ(rounded_to_half(65520.0), infinity);
  EXPECT_EQ(rounded_to_half(-1e300), -infinity);
  EXPECT_EQ(rounded_to_half(1e-30), 0.0);
}

TEST(Float, IsRoundedAndTruncatedAsTheFormat) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  for (int n = 0; n < 10000; ++n) {
    const double x = normal(random) * std::exp(10.0 * normal(random));
    const auto nearest = static_cast<float>(x);
    ASSERT_EQ(rounded_to_bits<24>(x), static_cast<double>(nearest));
    const bool away = std::abs(static_cast<double>(nearest)) > std::abs(x);
    ASSERT_EQ(truncated_to_float(x), static_cast<double>(away ? std::nextafter(nearest, 0.0F) : nearest));
  }
}

/// Two matrices a[m,k], b[n,k] with rows that are `stride` doubles apart.
struct Matrices {
  std::int64_t m, n, k, stride;
  std::vector<double> a, b;

  Matrices(std::int64_t rows, std::int64_t columns, std::int64_t contracted, bool positive = false)
      : m(rows), n(columns), k(contracted), stride(contracted + 3) {
    std::mt19937_64 random(static_cast<std::uint64_t>(rows + 7 * columns + 100 * contracted));
    std::normal_distribution<double> normal;
    const auto fill = [&](std::vector<double>& matrix, std::int64_t size) {
      matrix.resize(static_cast<std::size_t>(size * stride));
      for (double& x : matrix) x = normal(random) * std::exp(normal(random));
      if (positive) std::transform(matrix.begin(), matrix.end(), matrix.begin(), [](double x) { return std::abs(x); });
    };
    fill(a, m);
    fill(b, n);
  }
  std::vector<double> exact() const {
    std::vector<double> c(static_cast<std::size_t>(m * n));
    multiply_transposed(m, n, k, a.data(), stride, b.data(), stride, c.data());
    return c;
  }
  std::vector<double> split() const {
    std::vector<double> c(static_cast<std::size_t>(m * n));
    SplitProduct().multiply(m, n, k, a.data(), stride, b.data(), stride, c.data());
    return c;
  }
};

/// Root of the mean square.
double rms(const std::vector<double>& x) {
  double sum = 0.0;
  for (const double value : x) sum += value * value;
  return std::sqrt(sum / static_cast<double>(x.size()));
}

TEST(SplitProduct, HasTheErrorOfTheKernel) {
  for (const std::int64_t k : {1, 15, 16, 17, 63, 64, 65, 200, 321}) {
    const Matrices matrices(70, 9, k);
    const std::vector<double> exact = matrices.exact();
    std::vector<double> error = matrices.split();
    for (std::size_t n = 0; n < error.size(); ++n) error[n] -= exact[n];
    EXPECT_LT(rms(error), 5e-7 * rms(exact)) << k;
    EXPECT_GT(rms(error), 1e-8 * rms(exact)) << k;
  }
}

/// The mean of the relative errors of a product.
double bias_of(const Matrices& matrices) {
  const std::vector<double> exact = matrices.exact(), split = matrices.split();
  double bias = 0.0;
  for (std::size_t n = 0; n < exact.size(); ++n)
    bias += (split[n] / exact[n] - 1.0) / static_cast<double>(exact.size());
  return bias;
}

/// The sums of tensor cores truncate. About half of the largest bias is made up for, so an energy is wrong by at most
/// twice the rest, 5e-7 of it. The bias does not grow with the number of contracted indices.
TEST(SplitProduct, HasASmallBiasForAllLengths) {
  constexpr double largest = 2.5e-7;
  for (const std::int64_t k : {1, 16, 17, 48, 64, 320, 1280}) {
    EXPECT_LT(std::abs(bias_of(Matrices(64, 8, k, true))), largest) << k;
  }
  // Nearly all of the sum is in the first instruction: all later instructions truncate the whole sum.
  for (const std::int64_t k : {16, 20, 40, 64}) {
    Matrices matrices(64, 8, k, true);
    for (std::int64_t row = 0; row < matrices.m; ++row) {
      for (std::int64_t x = 1; x < k; ++x) matrices.a[static_cast<std::size_t>(row * matrices.stride + x)] *= 1e-3;
    }
    EXPECT_LT(std::abs(bias_of(matrices)), largest) << k;
  }
}

TEST(SplitProduct, IsScaledWithItsOperands) {
  Matrices matrices(20, 6, 90);
  const std::vector<double> product = matrices.split();
  for (const int exponent : {-500, -100, 10, 300}) {
    Matrices scaled = matrices;
    for (double& x : scaled.a) x = std::ldexp(x, exponent);
    std::vector<double> expected = product;
    for (double& x : expected) x = std::ldexp(x, exponent);
    EXPECT_EQ(scaled.split(), expected) << exponent;
  }
  for (const double factor : {1e-30, 1e3}) {
    Matrices scaled = matrices;
    for (double& x : scaled.b) x *= factor;
    const std::vector<double> exact = scaled.exact();
    std::vector<double> error = scaled.split();
    for (std::size_t n = 0; n < error.size(); ++n) error[n] -= exact[n];
    EXPECT_LT(rms(error), 5e-7 * rms(exact)) << factor;
  }
  std::fill(matrices.a.begin(), matrices.a.end(), 0.0);
  EXPECT_EQ(matrices.split(), std::vector<double>(product.size(), 0.0));
}

}
}
