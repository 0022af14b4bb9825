#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>

#include "cxx/contraction/description.hpp"

#pragma GCC visibility push(default)

namespace trifuse::contraction {

/// All combinations of the values of some indices in C order, the last index fastest, and a division of them into
/// blocks. A block has fixed values of the indices before the cut, a range of values of the index at the cut, and all
/// values of the indices behind it.
class IndexSpace {
 public:
  IndexSpace() = default;
  /// The whole space. `indices`: at most `max_indices`. It is one block.
  explicit IndexSpace(std::span<const Index> indices) : count_(indices.size()) {
    assert(count_ <= max_indices);
    for (std::size_t n = 0; n < count_; ++n) axes_[n] = {indices[n].extent, indices[n].stride};
    if (count_ > 0) step_ = axes_[0].extent;
  }

  struct Axis {
    std::int64_t extent;
    std::array<std::int64_t, 3> stride;  ///< [Tensor]
  };
  std::span<const Axis> axes() const { return {axes_.data(), count_}; }
  /// Returns [Tensor]: offset of the first value.
  const std::array<std::int64_t, 3>& offset() const { return offset_; }

  /// Returns the number of combinations.
  std::int64_t size() const { return product(0, count_); }
  /// Returns the elements from one combination to the next. Has a meaning if begin_of_run() of the tensor is 0.
  std::int64_t stride(Tensor tensor) const { return count_ == 0 ? 0 : axes_[count_ - 1].stride[tensor]; }
  /// Returns the first axis from which on all combinations have equal distances in a tensor.
  std::size_t begin_of_run(Tensor tensor) const {
    std::size_t begin = count_;
    while (begin > 0 &&
           (begin == count_ || axes_[begin - 1].stride[tensor] == axes_[begin].stride[tensor] * axes_[begin].extent)) {
      --begin;
    }
    return begin;
  }

  /// Divides the space. `axis`: 0 if there are no axes. `step`: values of the index at the cut in a block, at least 1.
  void cut(std::size_t axis, std::int64_t step) {
    cut_ = axis;
    step_ = count_ == 0 ? 1 : std::min(step, axes_[axis].extent);
  }
  /// Divides the space into blocks of at most about `wanted` combinations. The cut is at `first` or behind it.
  void cut_to(std::int64_t wanted, std::size_t first) {
    std::int64_t inside = 1;
    std::size_t axis = count_ == 0 ? 0 : count_ - 1;
    for (; axis > first && inside * axes_[axis].extent <= wanted; --axis) inside *= axes_[axis].extent;
    if (count_ == 0) return cut(0, 1);
    const std::int64_t extent = axes_[axis].extent;
    const std::int64_t ranges = divide_up(extent, std::clamp<std::int64_t>(wanted / inside, 1, extent));
    cut(axis, divide_up(extent, ranges));
  }
  std::size_t cut_axis() const { return cut_; }
  std::int64_t step() const { return step_; }
  /// Returns the number of ranges of the index at the cut.
  std::int64_t ranges() const { return count_ == 0 ? 1 : divide_up(axes_[cut_].extent, step_); }
  /// Combinations of the indices behind the cut.
  std::int64_t inside() const { return count_ == 0 ? 1 : product(cut_ + 1, count_); }
  /// Combinations of a block. The last range may have fewer.
  std::int64_t block_size() const { return step_ * inside(); }
  std::int64_t blocks() const { return product(0, cut_) * ranges(); }

  /// Returns a block as a space, which is one block itself. Blocks are in C order.
  IndexSpace block(std::int64_t number) const {
    IndexSpace found;
    found.offset_ = offset_;
    if (count_ == 0) return found;
    const std::int64_t range = number % ranges();
    std::int64_t rest = number / ranges();
    for (std::size_t n = cut_; n-- > 0;) {
      found.move(axes_[n], rest % axes_[n].extent);
      rest /= axes_[n].extent;
    }
    found.move(axes_[cut_], range * step_);
    found.count_ = count_ - cut_;
    std::copy(axes_.begin() + static_cast<std::ptrdiff_t>(cut_), axes_.begin() + static_cast<std::ptrdiff_t>(count_),
              found.axes_.begin());
    found.axes_[0].extent = std::min(step_, axes_[cut_].extent - range * step_);
    found.step_ = found.axes_[0].extent;
    return found;
  }

  /// Calls `body(offset)` for each combination. `offset`: [Tensor], the offset of the combination.
  template <typename Body>
  void for_each(const Body& body) const {
    std::array<std::int64_t, max_indices> value{};
    std::array<std::int64_t, 3> offset = offset_;
    for (std::size_t axis = count_ + 1; axis > 0;) {
      body(static_cast<const std::array<std::int64_t, 3>&>(offset));
      for (axis = count_; axis > 0; --axis) {
        const Axis& moved = axes_[axis - 1];
        const bool last = ++value[axis - 1] == moved.extent;
        for (const Tensor t : {A, B, C}) offset[t] += moved.stride[t] * (last ? 1 - moved.extent : 1);
        if (!last) break;
        value[axis - 1] = 0;
      }
    }
  }

  static std::int64_t divide_up(std::int64_t n, std::int64_t by) { return (n + by - 1) / by; }

 private:
  std::int64_t product(std::size_t first, std::size_t end) const {
    std::int64_t size = 1;
    for (std::size_t n = first; n < end; ++n) size *= axes_[n].extent;
    return size;
  }
  void move(const Axis& axis, std::int64_t values) {
    for (const Tensor t : {A, B, C}) offset_[t] += values * axis.stride[t];
  }

  std::array<Axis, max_indices> axes_;  ///< [count_], the rest has no meaning
  std::size_t count_ = 0, cut_ = 0;
  std::int64_t step_ = 1;
  std::array<std::int64_t, 3> offset_{};
};

}

#pragma GCC visibility pop
