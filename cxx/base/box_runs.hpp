#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace trifuse {

/// Number of elements of an array or box: the product of its extents.
inline std::int64_t elements_of(std::span<const std::int64_t> extents) {
  std::int64_t elements = 1;
  for (const std::int64_t extent : extents) elements *= extent;
  return elements;
}

/// Iterates over the runs of consecutive elements that make up a box of an array in C order. All runs have the same
/// length. A new object is at the first run.
class BoxRuns {
 public:
  /// The box of `count` elements per axis that begins at element `offset` of an array of shape `shape`. The box must be
  /// `inside` the array, and `shape` and `count` must outlive this object.
  BoxRuns(std::span<const std::int64_t> shape, std::span<const std::int64_t> offset,
          std::span<const std::int64_t> count)
      : shape_(shape), count_of_axis_(count), at_(shape.size(), 0) {
    std::int64_t step = 1;
    for (std::size_t k = shape.size(); k-- > 0;) {
      // Runs extend over this axis if the box contains all later axes completely.
      (length_ == step ? length_ : count_) *= count[k];
      first_ += offset[k] * step;
      step *= shape[k];
    }
  }

  /// True if all three have the same length and the box lies inside the array.
  static bool inside(std::span<const std::int64_t> shape, std::span<const std::int64_t> offset,
                     std::span<const std::int64_t> count) {
    if (offset.size() != shape.size() || count.size() != shape.size()) return false;
    for (std::size_t k = 0; k < shape.size(); ++k) {
      if (offset[k] < 0 || count[k] < 0 || offset[k] > shape[k] - count[k]) return false;
    }
    return true;
  }

  std::int64_t length() const { return length_; }  ///< elements in a run
  std::int64_t count() const { return count_; }    ///< number of runs
  std::int64_t first() const { return first_; }    ///< index of the current run's first element in the array, from 0

  /// Goes to the next run. The last axis outside a run advances first.
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
/// that are as large as possible. Calls `visit(offset, count, size)` for each box, in order: the first index, the
/// number of elements per axis, and the number of elements. All elements must lie inside the array.
template <typename Visit>
void for_each_box_of_run(std::span<const std::int64_t> shape, std::int64_t first, std::int64_t elements, Visit visit) {
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
