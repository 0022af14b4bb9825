#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace trifuse {

/// Notices that a caller's reader delivers other numbers than before.
///
/// The last axis of an array is divided into pieces of at most `longest_piece` elements. The first reading of a piece
/// stores a weighted sum of its elements. The sum of each later reading is compared with it. A reader may compute its
/// numbers, so sums may differ by rounding. Thread-safe.
class RowSums {
 public:
  static constexpr std::int64_t longest_piece = 4096;

  /// `shape`: number of elements along each axis; at least one axis.
  explicit RowSums(std::vector<std::int64_t> shape);

  /// A range of the last axis: first index and number of elements.
  struct Range {
    std::int64_t first, count;
  };
  /// Returns the smallest range of whole pieces that contains a range of the last axis.
  Range whole_pieces(const Range& range) const;

  /// Compares the pieces of a box with their sums, and keeps the sums of pieces that were not known. `offset`, `count`:
  /// the box, which consists of whole pieces along the last axis. `values`: its elements in C order. Returns the first
  /// element of a piece whose numbers have changed; nullopt if there is none.
  std::optional<std::vector<std::int64_t>> changed(std::span<const std::int64_t> offset,
                                                   std::span<const std::int64_t> count, std::span<const double> values);

 private:
  /// Returns true if the sum of `values` is the known sum of the piece, or if no sum was known.
  bool same(std::int64_t piece, std::span<const double> values);

  std::vector<std::int64_t> shape_;
  std::int64_t pieces_of_row_;
  std::vector<double> weights_;            ///< weights_[element of a piece], from 1 to 2, different for all elements
  std::vector<std::atomic<double>> sums_;  ///< sums_[row, piece of the row]; NaN: not known
};

}
