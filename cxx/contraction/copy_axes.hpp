#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "cxx/contraction/box_copy.hpp"
#include "cxx/contraction/index_space.hpp"

namespace trifuse::contraction {

/// The axes of a copy, of which one side is a tensor.
class CopyAxes {
 public:
  void add(std::int64_t extent, std::int64_t from, std::int64_t to) { axes_[count_++] = {extent, from, to}; }
  /// Adds the axes of a space from `first` on. The other side numbers their combinations in C order, `step` elements
  /// apart. `from_tensor`: the tensor is read, else written.
  void add(const IndexSpace& space, std::size_t first, Tensor tensor, std::int64_t step, bool from_tensor = true) {
    for (std::size_t n = space.axes().size(); n-- > first;) {
      const auto& [extent, stride] = space.axes()[n];
      from_tensor ? add(extent, stride[tensor], step) : add(extent, step, stride[tensor]);
      step *= extent;
    }
  }
  std::span<const CopyAxis> span() const { return {axes_.data(), count_}; }

 private:
  std::array<CopyAxis, 2 * max_indices> axes_;
  std::size_t count_ = 0;
};

}
