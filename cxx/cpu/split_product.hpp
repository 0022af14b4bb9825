#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

/// Matrix products as the GPU kernels of mixed precision compute them, emulated on CPU cores. The emulation is slow. It
/// is for tests without a GPU.
namespace trifuse {

/// Rounds a number to `bits` significant bits, to nearest, ties to even.
template <int bits>
constexpr double rounded_to_bits(double x) {
  constexpr int dropped = 53 - bits;
  constexpr std::uint64_t below_half = (std::uint64_t{1} << (dropped - 1)) - 1;
  constexpr std::uint64_t mask = ~((std::uint64_t{1} << dropped) - 1);
  const auto pattern = std::bit_cast<std::uint64_t>(x);
  return std::bit_cast<double>((pattern + below_half + ((pattern >> dropped) & 1u)) & mask);
}

/// Returns the nearest number of the format FP16 (IEEE 754 binary16), ties to even; infinity for numbers of 65520 and
/// more.
constexpr double rounded_to_half(double x) {
  constexpr double least_normal = 0x1p-14, first_above = 65520.0;
  const double size = x < 0.0 ? -x : x;
  if (size >= first_above) {
    return x < 0.0 ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
  }
  if (size >= least_normal) return rounded_to_bits<11>(x);
  // Doubles near 1.5 2^28 are multiples of 2^-24, and so are FP16 numbers below the least normal one.
  constexpr double shift = 0x1.8p28;
  return (x + shift) - shift;
}

/// Drops all bits of a number behind the 24 significant bits of FP32. The range of exponents stays that of FP64.
inline double truncated_to_float(double x) {
  constexpr std::uint64_t mask = ~((std::uint64_t{1} << 29) - 1);
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(x) & mask);
}

/// Computes products of matrices whose elements are scaled by a power of two and split into two FP16 numbers. Owns the
/// scratch memory for it.
///
/// Each matrix is scaled so that its largest element is 2^14 to 2^15. An element x becomes hi + lo with hi = half(x)
/// and lo = half(x - hi). For each 16 contracted indices, three instructions add the products hi lo, lo hi and hi hi to
/// an FP32 sum. Each instruction truncates the sum. The sum over 64 contracted indices is multiplied by a number that
/// makes up for the average truncation (see SplitHalf::makes_up_for_truncation), and added to an FP32 total, rounded to
/// nearest.
class SplitProduct {
 public:
  /// Computes c[n,m] = sum_x a[m,x] b[n,x], with the parameters of `multiply_transposed`.
  void multiply(std::int64_t m, std::int64_t n, std::int64_t k, const double* a, std::int64_t lda, const double* b,
                std::int64_t ldb, double* c);

 private:
  std::vector<double> a_hi_, a_lo_, b_hi_, b_lo_;  ///< a[x,m] and b[n,x], scaled and split
};

}
