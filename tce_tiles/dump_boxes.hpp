#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cxx/base/buffer.hpp"
#include "tce_tiles/dump_layout.hpp"

/// Arrays of a dump as they are checked: box by box, each read once and looked at while it is in the cache.
namespace trifuse {

using BoxIndex = std::array<std::int64_t, 4>;

/// `array[p] = sign * array[q]` where q holds the indices of p in another order: q[k] = p[axes[k]].
struct ArraySymmetry {
  std::array<int, 4> axes;
  double sign;
};

/// Part of an array in memory, last index fastest.
struct ArrayBox {
  BoxIndex offset, count, stride;
  std::span<const double> values;
  double largest;  ///< absolute value
};

/// A box, and the one that the symmetries of the array tie to it, if that is another.
struct BoxPair {
  ArrayBox first;
  std::optional<ArrayBox> second;
};

/// Elements above this (absolute) must not be where the irreps make them zero.
inline constexpr double irrep_tolerance = 1e-7;

class CheckedArray {
 public:
  /// `box_doubles`: about how many numbers a box has, though never less than one step along each axis that boxes cut.
  CheckedArray(const Hdf5File& file, const DumpHeader& header, const ArraySpec& spec, std::int64_t box_doubles);

  const ArraySpec& spec() const { return spec_; }

  /// Where boxes begin, but for those that are read together with the first of a pair.
  std::vector<BoxIndex> begins() const;
  /// Of the box that begins there.
  BoxIndex count(const BoxIndex& begin) const;
  /// Reads a box with the one that is tied to it, if any, and throws InputError for numbers that are not finite, beyond
  /// any reasonable size, forbidden by irreps or not tied to each other as they should be. For any thread; the boxes
  /// live in the buffers.
  BoxPair read(const BoxIndex& begin, const BoxIndex& count, Buffer& first, Buffer& second) const;

 private:
  const ArraySymmetry* to_other_box(const BoxIndex& begin) const;
  ArrayBox read_one(const BoxIndex& begin, const BoxIndex& count, Buffer& buffer) const;
  void check_irreps(const ArrayBox& box) const;
  void compare(const ArraySymmetry& symmetry, const ArrayBox& x, const ArrayBox& y) const;

  ArraySpec spec_;
  std::string path_;
  Hdf5Dataset dataset_;
  std::vector<ArraySymmetry> symmetries_;
  std::vector<std::vector<int>> irreps_;  ///< of the orbitals of each axis; none where there is no symmetry
  BoxIndex extent_{}, step_{};
};

/// "[0,1,2,3]"
std::string element_text(std::span<const std::int64_t> element);
[[noreturn]] void throw_forbidden(const std::string& path, const std::string& dataset,
                                  std::span<const std::int64_t> element, double value);
/// Throws InputError where the largest value of a dataset is beyond `limit`.
void check_size(double largest, double limit, const std::string& path, const std::string& dataset);

}  // namespace trifuse
