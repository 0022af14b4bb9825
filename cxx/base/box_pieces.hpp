#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace trifuse {

/// Returns the number of elements of an array or of a box: the product of its extents.
inline std::int64_t elements_of(std::span<const std::int64_t> extents) {
  std::int64_t elements = 1;
  for (const std::int64_t extent : extents) elements *= extent;
  return elements;
}

/// Iterates over the contiguous pieces of a box: sequences of elements that are consecutive in the array, in C order.
/// All pieces have the same length. A new object is at the first piece.
class BoxPieces {
 public:
  /// `shape`: shape of the array. `offset`: first element of the box. `count`: number of elements along each axis. The
  /// box must be `inside` the array. `shape` and `count` must outlive this object.
  BoxPieces(std::span<const std::int64_t> shape, std::span<const std::int64_t> offset,
            std::span<const std::int64_t> count)
      : shape_(shape), count_of_axis_(count), at_(shape.size(), 0) {
    std::int64_t step = 1;
    for (std::size_t k = shape.size(); k-- > 0;) {
      // A piece extends over this axis if the box contains all later axes completely.
      (length_ == step ? length_ : count_) *= count[k];
      first_ += offset[k] * step;
      step *= shape[k];
    }
  }

  /// Returns true if all three arguments have the same length and the box lies inside the array.
  static bool inside(std::span<const std::int64_t> shape, std::span<const std::int64_t> offset,
                     std::span<const std::int64_t> count) {
    if (offset.size() != shape.size() || count.size() != shape.size()) return false;
    for (std::size_t k = 0; k < shape.size(); ++k) {
      if (offset[k] < 0 || count[k] < 0 || offset[k] > shape[k] - count[k]) return false;
    }
    return true;
  }

  std::int64_t length() const { return length_; }  ///< elements in a piece
  std::int64_t count() const { return count_; }    ///< number of pieces
  std::int64_t first() const { return first_; }    ///< index in the array of the current piece's first element

  /// Goes to the next piece. The last axis outside a piece advances first.
  void next() {
    std::int64_t inside = 1, apart = 1;
    for (std::size_t k = shape_.size(); k-- > 0;) {
      inside *= count_of_axis_[k];
      if (inside > length_) {
        first_ += apart;
        if (++at_[k] < count_of_axis_[k]) break;
        first_ -= apart * count_of_axis_[k];
        at_[k] = 0;
      }
      apart *= shape_[k];
    }
  }

 private:
  std::span<const std::int64_t> shape_, count_of_axis_;
  std::int64_t length_ = 1, count_ = 1, first_ = 0;
  std::vector<std::int64_t> at_;
};

/// Cuts `elements` consecutive elements of an array of shape `shape` in C order, from element `first` on, into boxes
/// that are as large as possible. Calls `visit(offset, count, size)` for each box, in order: its first element, its
/// number of elements along each axis, and its size. All elements must lie inside the array.
template <typename Visit>
void for_each_box_of_piece(std::span<const std::int64_t> shape, std::int64_t first, std::int64_t elements,
                           Visit visit) {
  const std::int64_t size = elements_of(shape);
  while (elements > 0) {
    std::vector<std::int64_t> offset(shape.size(), 0), count(shape.size(), 1);
    std::int64_t rest = first, inside = size, box = 1;
    for (std::size_t k = 0; k < shape.size(); ++k) {
      inside /= shape[k];
      offset[k] = rest / inside;
      rest %= inside;
      if (rest != 0 || elements < inside) continue;
      count[k] = std::min(elements / inside, shape[k] - offset[k]);
      std::copy(shape.begin() + static_cast<std::ptrdiff_t>(k) + 1, shape.end(),
                count.begin() + static_cast<std::ptrdiff_t>(k) + 1);
      box = count[k] * inside;
      break;
    }
    visit(offset, count, box);
    elements -= box;
    first += box;
  }
}

}
