#include "tce_tiles/factors/factor_bands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "cxx/base/buffer.hpp"
#include "cxx/base/error.hpp"
#include "cxx/base/share_among_threads.hpp"
#include "tce_tiles/dense/dense_input.hpp"
#include "tce_tiles/tiles/packed_pairs.hpp"

namespace trifuse {
namespace {

/// Largest difference of B[Q,p,q] and B[Q,q,p]: absolute for numbers up to 1, else relative.
constexpr double symmetry_tolerance = 1e-7;

bool equal(double x, double y) {
  return std::abs(x - y) <= symmetry_tolerance * std::max(1.0, std::abs(x));
}

/// Calls `body(p, q)` for all q < p < n, square by square, so that both [p,q] and [q,p] stay in the cache.
template <typename Body>
void for_lower_triangle(std::int64_t n, Body body) {
  constexpr std::int64_t edge = 16;
  for (std::int64_t p0 = 0; p0 < n; p0 += edge) {
    for (std::int64_t q0 = 0; q0 <= p0; q0 += edge) {
      for (std::int64_t q = q0; q < std::min(q0 + edge, n); ++q) {
        for (std::int64_t p = std::max(p0, q + 1); p < std::min(p0 + edge, n); ++p) body(p, q);
      }
    }
  }
}

/// Copies the lower triangle of the matrix [n,n] to its upper triangle.
void mirror(double* square, std::int64_t n) {
  for_lower_triangle(n, [&](std::int64_t p, std::int64_t q) { square[q * n + p] = square[p * n + q]; });
}

/// Makes the matrix [n,n] of a packed lower triangle.
void unpack(const double* packed, std::int64_t n, double* square) {
  for (std::int64_t p = 0; p < n; ++p) std::copy_n(packed + pair_count(p), p + 1, square + p * n);
  mirror(square, n);
}

}

FactorBands::FactorBands(std::shared_ptr<const DenseArray> array, std::int64_t p_count, std::int64_t q_count,
                         bool symmetric)
    : array_(std::move(array)),
      auxiliary_(array_->shape()[0]),
      p_count_(p_count),
      q_count_(q_count),
      symmetric_(symmetric) {}

void FactorBands::visit(std::int64_t begin, std::int64_t end, int threads,
                        const std::function<void(const Band&)>& visit) const {
  const bool packed = array_->shape().size() == 2;
  const std::int64_t plane = p_count_ * q_count_, stored = packed ? pair_count(p_count_) : plane;
  constexpr std::int64_t band_doubles = std::int64_t{1} << 21, most = 64;
  const std::int64_t step = std::clamp<std::int64_t>(band_doubles / std::max<std::int64_t>(1, plane), 1, most);
  struct Buffers {
    Buffer read, unpacked;
  };
  const std::int64_t bands = std::max<std::int64_t>(0, (end - begin + step - 1) / step);
  share_among_threads<Buffers>(static_cast<std::size_t>(bands), threads, [&](std::size_t n, Buffers& buffers) {
    const std::int64_t first = begin + static_cast<std::int64_t>(n) * step, count = std::min(step, end - first);
    buffers.read.reserve(static_cast<std::size_t>(count * stored));
    const std::span<double> read = buffers.read.span().first(static_cast<std::size_t>(count * stored));
    std::vector<std::int64_t> offset(array_->shape().size(), 0), extent(array_->shape().begin(), array_->shape().end());
    offset[0] = first;
    extent[0] = count;
    array_->read(offset, extent, read);
    check_finite(read, array_->label());
    if (packed) buffers.unpacked.reserve(static_cast<std::size_t>(count * plane));
    for (std::int64_t k = 0; k < count; ++k) {
      if (packed) {
        unpack(read.data() + k * stored, p_count_, buffers.unpacked.data() + k * plane);
      } else if (symmetric_) {
        check_symmetry(read.data() + k * plane, first + k);
        mirror(read.data() + k * plane, p_count_);
      }
    }
    visit({first, count, packed ? buffers.unpacked.data() : read.data()});
  });
}

void FactorBands::check_symmetry(const double* plane, std::int64_t auxiliary) const {
  bool symmetric = true;
  for_lower_triangle(p_count_, [&](std::int64_t p, std::int64_t q) {
    symmetric = symmetric && equal(plane[p * q_count_ + q], plane[q * q_count_ + p]);
  });
  for (std::int64_t p = 0; !symmetric && p < p_count_; ++p) {
    for (std::int64_t q = 0; q < p; ++q) {
      const double x = plane[p * q_count_ + q], y = plane[q * q_count_ + p];
      if (equal(x, y)) continue;
      throw InputError(fmt::format(
          "{}: element [{},{},{}] is {:.10g}, but [{},{},{}] is {:.10g}; the factors are symmetric in their "
          "last two indices, {} them so.",
          array_->label().text(), auxiliary, p, q, x, auxiliary, q, p, y, array_->label().words.write));
    }
  }
}

}
