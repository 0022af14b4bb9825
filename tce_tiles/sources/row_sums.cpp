#include "tce_tiles/sources/row_sums.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "cxx/base/box_pieces.hpp"

namespace trifuse {

namespace {

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

std::int64_t rows_of(std::span<const std::int64_t> extents) {
  return elements_of(extents.first(extents.size() - 1));
}

}

RowSums::RowSums(std::vector<std::int64_t> shape)
    : shape_(std::move(shape)),
      pieces_of_row_((shape_.back() + longest_piece - 1) / longest_piece),
      sums_(static_cast<std::size_t>(rows_of(shape_) * pieces_of_row_)) {
  for (std::atomic<double>& sum : sums_) sum.store(unknown, std::memory_order_relaxed);
  constexpr double golden = 0.6180339887498949;
  for (std::int64_t k = 0; k < std::min(shape_.back(), longest_piece); ++k) {
    const double turns = static_cast<double>(k) * golden;
    weights_.push_back(1.0 + turns - std::floor(turns));
  }
}

RowSums::Range RowSums::whole_pieces(const Range& range) const {
  const std::int64_t first = range.first / longest_piece * longest_piece;
  const std::int64_t last = (range.first + range.count + longest_piece - 1) / longest_piece * longest_piece;
  return {first, std::min(last, shape_.back()) - first};
}

bool RowSums::same(std::int64_t piece, std::span<const double> values) {
  const double *const x = values.data(), *const w = weights_.data();
  double sum = 0.0, size = 0.0;
#pragma omp simd reduction(+ : sum, size)
  for (std::size_t k = 0; k < values.size(); ++k) {
    sum += w[k] * x[k];
    size += std::abs(x[k]);
  }
  double known = unknown;
  if (sums_[static_cast<std::size_t>(piece)].compare_exchange_strong(known, sum)) return true;
  // This is far above the rounding of numbers that a reader computes, and far below changes that an energy would show.
  constexpr double tolerance = 1e-12;
  return std::abs(sum - known) <= tolerance * (1.0 + size);
}

std::optional<std::vector<std::int64_t>> RowSums::changed(std::span<const std::int64_t> offset,
                                                          std::span<const std::int64_t> count,
                                                          std::span<const double> values) {
  const std::size_t last = shape_.size() - 1;
  std::vector<std::int64_t> at(offset.begin(), offset.end());
  for (std::int64_t rows = rows_of(count); rows > 0; --rows) {
    std::int64_t row = 0;
    for (std::size_t k = 0; k < last; ++k) row = row * shape_[k] + at[k];
    for (at[last] = offset[last]; at[last] < offset[last] + count[last]; at[last] += longest_piece) {
      const std::int64_t size = std::min(longest_piece, offset[last] + count[last] - at[last]);
      if (!same(row * pieces_of_row_ + at[last] / longest_piece, values.first(static_cast<std::size_t>(size)))) {
        return at;
      }
      values = values.subspan(static_cast<std::size_t>(size));
    }
    for (std::size_t k = last; k-- > 0;) {
      if (++at[k] < offset[k] + count[k]) break;
      at[k] = offset[k];
    }
  }
  return std::nullopt;
}

}
