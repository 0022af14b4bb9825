#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "cxx/contraction/gpu_program.hpp"

/// The kernels of contractions, as the host sees them.
namespace trifuse::contraction::gpu {

/// An operand of a kernel. The arrays are in device memory; for their shapes see GpuOperand.
struct OperandParameters {
  const double* data;  ///< the element at offset 0
  const Line* lines;
  const std::uint16_t* line_order;
  const std::int32_t* k;
  const std::uint16_t* k_order;
  TileGrid grid;
  std::int32_t line_count;
  bool pairs;        ///< 16 bytes are copied at once
  bool whole_pairs;  ///< each of these copies has two numbers that exist
  bool along_lines;  ///< neighbours are lines, see Arrangement::line_fastest
};

/// The parameters of a kernel.
struct Parameters {
  OperandParameters rows, columns;
  OuterSpace batch, outer_k;
  TileOrder order;
  /// Of KernelKind::small: pieces of a tile, each computed by one thread, and pieces beside each other.
  Divisor blocks, column_blocks;
  double* c;         ///< the element at offset 0
  double* partials;  ///< [2 * CTAs, rows, columns]: parts of sums; null if there are none
  double alpha, beta;
  std::int32_t k, inner_steps, steps, waves;
  bool c_pairs;  ///< 16 bytes are stored at once
};

/// Returns the kernel of a plan. Each kind has a source of its own, the pipelined one has two.
const void* kernel_of(const GpuPlan& plan);
/// Return the kernel of a plan if it is in this source, or else null.
const void* pipelined_kernel(const GpuPlan& plan);
const void* small_pipelined_kernel(const GpuPlan& plan);
const void* plain_kernel(const GpuPlan& plan);
const void* small_kernel(const GpuPlan& plan);
const void* warp_kernel(const GpuPlan& plan);

/// Puts the addition of the parts of divided tiles on a stream, for a plan that divides tiles.
void launch_add_partials(const GpuPlan& plan, const Parameters& parameters, cudaStream_t stream);

/// Puts the copy of an operand on a stream. `from`: the element at offset 0. `to`: [GpuPacking::size].
void launch_packing(const GpuPacking& packing, const double* from, double* to, cudaStream_t stream);

/// The elements of C, for c = beta * c.
struct Elements {
  std::int32_t axes;
  std::int64_t size;  ///< product of the extents
  std::int64_t extent[max_indices], stride[max_indices];
};
/// Puts c = beta * c on a stream. `c` is not read if `beta` is 0.
void launch_scale(const Elements& elements, double beta, double* c, cudaStream_t stream);

}
