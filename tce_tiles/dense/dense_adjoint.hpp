#pragma once

#include <array>
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
/// open_dense(): where a block is a sum of boxes of arrays, its derivatives are added to these boxes. Numbers are
/// integers, so that sums do not depend on their order. Thread-safe.
class DenseAdjoint {
 public:
  /// An array of rank 4.
  struct Array {
    ArraySpec spec;
    std::array<std::int64_t, 4> shape;
  };
  /// The elements of a block that are a part of a slice. By dimension of the block; `begin`: counted from the first
  /// orbital of its class.
  struct Box {
    std::array<std::int64_t, 4> begin, size;
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
  /// Returns the elements of a block whose part is in the slice; nullopt if there are none.
  std::optional<Box> box(const BlockPart& part, const std::array<int, 4>& tiles, const ArraySlice& slice) const;
  /// Adds the derivatives by elements of a block to a slice. `elements`: those of the box, C order. `values`: the
  /// slice, C order. Its numbers are the bits of integers until finish(), which needs no second array. Two threads must
  /// not add to the same elements at the same time.
  void add(const Array& array, const BlockPart& part, const Box& box, std::span<const std::int64_t> elements,
           const ArraySlice& slice, std::span<double> values) const;
  /// Multiplies the integers of a slice by `unit` and projects them on the symmetry of the array: dE is the sum of
  /// derivative times change for each change that has this symmetry. `threads`: at least 1.
  void finish(const Array& array, const ArraySlice& slice, double unit, std::span<double> values, int threads) const;

 private:
  bool restricted_;
  TileSpace tiles_;
  std::vector<Array> arrays_;
};

}
