#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "cxx/base/zeroed_vector.hpp"
#include "tce_tiles/dense/dense_input.hpp"
#include "tce_tiles/tiles/tile_space.hpp"

namespace trifuse {

/// A dense array of derivatives.
struct DerivativeArray {
  std::vector<std::int64_t> shape;  ///< C order
  ZeroedVector<double> values;
};

/// Makes derivatives by dense arrays from derivatives by the blocks that a source delivers. It is the adjoint of
/// open_dense(): where a block is a sum of boxes of arrays, its derivatives are added to these boxes. Numbers are
/// integers, so that sums do not depend on their order.
class DenseAdjoint {
 public:
  /// `input`: its arrays are not read. `tiles`: those of the blocks, for the orbitals of the input. `kinds`: the arrays
  /// whose derivatives are made.
  DenseAdjoint(const DenseInput& input, const TileSpace& tiles, const std::vector<ArrayKind>& kinds);

  /// Adds the derivatives by a block of t2 or v2, in C order. Does nothing for parts of arrays of other kinds. Any
  /// thread may call it.
  void add(TensorKind tensor, const std::array<int, 4>& tiles, std::span<const std::int64_t> block);
  /// Returns the arrays in the order of their names, multiplied by `unit`. They have the symmetry of the arrays: dE is
  /// the sum over all elements of derivative times change, for each change with this symmetry. May be called once.
  /// `threads`: at least 1.
  std::map<std::string, DerivativeArray> take(double unit, int threads);

 private:
  struct Array {
    ArraySpec spec;
    std::array<std::int64_t, 4> shape;
    ZeroedVector<double> values;  ///< the bits of integers until take(), which needs no second array
  };
  Array* find(ArrayKind kind, Spin first, Spin second);

  bool restricted_;
  TileSpace tiles_;
  std::vector<Array> arrays_;
};

/// Projects the derivatives by an array on the symmetry of this array: t2 and ovov of two electrons of one kind under
/// their exchange, t2 of equal spins and `asym_` arrays antisymmetric, ovvv and ovoo under the exchange of the last two
/// indices. `values`: in C order of the array. `threads`: at least 1.
void project_on_symmetry(const ArraySpec& spec, bool restricted, const std::array<std::int64_t, 4>& shape,
                         std::span<double> values, int threads);

}
