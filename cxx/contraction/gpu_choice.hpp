#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "cxx/contraction/gpu_plan.hpp"

/// The choice of the model, and the plan that follows from it.
namespace trifuse::contraction {

/// The external indices of an operand.
struct Side {
  Tensor tensor;               ///< A or B
  std::vector<Index> indices;  ///< their strides in C ascend
  bool k_fastest;              ///< the contiguous index of the operand is contracted
  bool c_fastest;              ///< has the contiguous index of C
};

/// Values of each index of a side in a tile.
using TileValues = std::array<std::int32_t, max_indices>;

struct GpuChoice {
  std::size_t shape;  ///< number in kernel_shapes
  Side rows, columns;
  std::array<TileValues, 2> values;      ///< of rows and columns
  std::vector<Index> batch, contracted;  ///< the fastest one first
  std::int32_t waves, ctas;
  double seconds = 0.0;
};

/// Returns the contracted indices in the order in which a sum runs over them, the fastest one first. If different ones
/// are contiguous in A and in B, both are divided in two.
std::vector<Index> contracted_digits(const Contraction& contraction);

/// Returns the plan of a choice.
GpuPlan make_plan(const GpuChoice& choice);

}
