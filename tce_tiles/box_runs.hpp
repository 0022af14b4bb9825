#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace trifuse {

/// The runs of consecutive elements that make up a box of an array in C order, from the first to the last. All are of
/// the same length.
class BoxRuns {
 public:
  /// The box of `count` elements from `offset` on, which lies inside of `shape`.
  BoxRuns(std::span<const std::int64_t> shape, std::span<const std::int64_t> offset,
          std::span<const std::int64_t> count)
      : shape_(shape), count_of_axis_(count), at_(shape.size(), 0) {
    std::int64_t step = 1;
    for (std::size_t k = shape.size(); k-- > 0;) {
      // As long as everything behind this axis is in the box, its neighbours follow each other.
      (length_ == step ? length_ : count_) *= count[k];
      first_ += offset[k] * step;
      step *= shape[k];
    }
  }

  static bool inside(std::span<const std::int64_t> shape, std::span<const std::int64_t> offset,
                     std::span<const std::int64_t> count) {
    if (offset.size() != shape.size() || count.size() != shape.size()) return false;
    for (std::size_t k = 0; k < shape.size(); ++k) {
      if (offset[k] < 0 || count[k] < 0 || offset[k] > shape[k] - count[k]) return false;
    }
    return true;
  }

  std::int64_t length() const { return length_; }  ///< elements of a run
  std::int64_t count() const { return count_; }    ///< runs
  std::int64_t first() const { return first_; }    ///< number of the run's first element

  /// To the next run: the last of the axes that do not belong to one, then those before.
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

/// Cuts `elements` consecutive elements of an array in C order, from number `first` on, into boxes that are as large as
/// they can be, and calls `visit(offset, count, elements)` for one after another.
template <typename Visit>
void for_each_box_of_run(std::span<const std::int64_t> shape, std::int64_t first, std::int64_t elements, Visit visit) {
  std::int64_t size = 1;
  for (const std::int64_t extent : shape) size *= extent;
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

}  // namespace trifuse
