#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cxx/base/buffer.hpp"
#include "tce_tiles/dense/dense_input.hpp"

/// Reads the arrays of a dump box by box for the check. A box is checked right after it is read, while it is in the
/// cache.
namespace trifuse {

/// Four indices, counts or strides: one for each axis of an array.
using BoxIndex = std::array<std::int64_t, 4>;

/// A symmetry of an array: array[p] = sign * array[q] with q[k] = p[axes[k]].
struct ArraySymmetry {
  std::array<int, 4> axes;
  double sign;
};

/// A part of an array in memory, in C order.
struct ArrayBox {
  BoxIndex offset;  ///< index in the array of the box's first element
  BoxIndex count;   ///< number of elements along each axis
  BoxIndex stride;  ///< distance in `values` of neighbours along each axis, in elements
  std::span<const double> values;
  double largest;  ///< largest absolute value
};

/// A box, and its symmetry-related box if this is a different box.
struct BoxPair {
  ArrayBox first;
  std::optional<ArrayBox> second;
};

/// Largest absolute value of an element that the irreps forbid.
inline constexpr double irrep_tolerance = 1e-7;

/// An array of a dump, cut into boxes. Every element is in exactly one box. Thread-safe.
class CheckedArray {
 public:
  /// Opens the array `spec`, of rank 4. `box_doubles` is the approximate number of elements in a box. Boxes cut some of
  /// the axes. A box has at least one index along each of these axes, and all indices along the other axes. Throws
  /// InputError if the array is missing or has a wrong shape.
  CheckedArray(const DenseArrays& arrays, const DenseHeader& header, const ArraySpec& spec, std::int64_t box_doubles);

  const ArraySpec& spec() const { return spec_; }

  /// Returns the first elements of the boxes to read. The list has only one box of two symmetry-related boxes, because
  /// `read` reads both.
  std::vector<BoxIndex> begins() const;
  /// Returns the number of elements along each axis of the box that begins at `begin`.
  BoxIndex count(const BoxIndex& begin) const;
  /// Reads a box, and its symmetry-related box if this is a different box. The values of the boxes are in the buffers
  /// `first` and `second`. Throws InputError if a number is not finite, beyond any reasonable size or forbidden by
  /// irreps, or if the numbers break a symmetry of the array.
  BoxPair read(const BoxIndex& begin, const BoxIndex& count, Buffer& first, Buffer& second) const;

 private:
  /// Returns a symmetry that relates the box to a different box; null if there is none.
  const ArraySymmetry* to_other_box(const BoxIndex& begin) const;
  ArrayBox read_one(const BoxIndex& begin, const BoxIndex& count, Buffer& buffer) const;
  void check_irreps(const ArrayBox& box) const;
  /// Compares each element of `x` with its symmetry-related element, which is in `y`.
  void compare(const ArraySymmetry& symmetry, const ArrayBox& x, const ArrayBox& y) const;

  ArraySpec spec_;
  std::shared_ptr<const DenseArray> array_;
  std::vector<ArraySymmetry> symmetries_;
  std::vector<std::vector<int>> irreps_;  ///< irreps_[axis][orbital]; empty without point-group symmetry
  BoxIndex extent_{}, step_{};
};

/// Returns the text of an index, e.g. "[0,1,2,3]".
std::string element_text(std::span<const std::int64_t> element);
/// Throws InputError about an element of `array` that irreps forbid. `element`: its index.
[[noreturn]] void throw_forbidden(const ArrayLabel& array, std::span<const std::int64_t> element, double value);
/// Throws InputError if `largest`, the largest absolute value of `array`, exceeds `limit`.
void check_size(double largest, double limit, const ArrayLabel& array);

}
