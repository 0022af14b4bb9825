#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cxx/base/zeroed_vector.hpp"
#include "tce_tiles/dense/block_parts.hpp"
#include "tce_tiles/dense/dense_input.hpp"
#include "tce_tiles/tiles/tile_space.hpp"

namespace trifuse {

/// A dense array of derivatives.
struct DerivativeArray {
  std::vector<std::int64_t> shape;  ///< C order
  ZeroedVector<double> values;
};

/// A range of the first index of an array.
struct ArraySlice {
  std::int64_t first, count;
};

/// Makes derivatives by dense arrays from derivatives by the blocks that a source delivers. It is the adjoint of
/// open_dense(): where a block is a sum of boxes of arrays, its derivatives are added to these boxes. Thread-safe.
///
///     for each box of the slice:             // boxes of different begins have no common elements
///       for each part of a block that is this box: add(part, of_block, elements, sums)
///       write(array, box, sums, unit, values)
///     project(array, slice, values, threads)
class DenseAdjoint {
 public:
  /// An array of rank 4.
  struct Array {
    ArraySpec spec;
    std::array<std::int64_t, 4> shape;
  };
  /// The part of a block that is a box of a slice.
  struct Box {
    /// By axis of the array, counted from the begin of the slice.
    std::array<std::int64_t, 4> begin, size;
    /// By dimension of the block: first elements, counted from the begin of the block, and their numbers.
    std::array<std::int64_t, 4> begin_in_block, size_in_block;
    std::size_t elements() const;
  };

  /// `input`: its arrays are not read. `tiles`: those of the blocks, for the orbitals of the input. `kinds`: the arrays
  /// whose derivatives are made.
  DenseAdjoint(const DenseInput& input, const TileSpace& tiles, const std::vector<ArrayKind>& kinds);

  /// Returns all arrays. Functions below take one of them.
  std::span<const Array> arrays() const { return arrays_; }
  /// Returns true if elements that are equal by the symmetry of the array have the same first index, so that any slice
  /// can be made alone. Other arrays are made as a whole.
  bool makes_slices(const Array& array) const;
  /// Returns the parts of a block of t2 or v2 that are boxes of this array.
  std::vector<BlockPart> parts(const Array& array, TensorKind tensor, const std::array<int, 4>& tiles) const;
  /// Returns the box of a part that is in the slice; nullopt if there is none.
  std::optional<Box> box(const BlockPart& part, const std::array<int, 4>& tiles, const ArraySlice& slice) const;
  /// Adds the derivatives by the elements of a block to those by a box. `elements`: those of the box, in C order of the
  /// block. `sums`: in C order of the array.
  static void add(const BlockPart& part, const Box& box, std::span<const double> elements, std::span<double> sums);
  /// Writes sums, multiplied by `unit`, to a box of a slice. `values`: the slice, C order.
  static void write(const Array& array, const Box& box, std::span<const double> sums, double unit,
                    std::span<double> values);
  /// Projects a slice on the symmetry of the array: dE is the sum of derivative times change for each change that has
  /// this symmetry. `threads`: at least 1.
  void project(const Array& array, const ArraySlice& slice, std::span<double> values, int threads) const;

 private:
  bool restricted_;
  TileSpace tiles_;
  std::vector<Array> arrays_;
};

}
