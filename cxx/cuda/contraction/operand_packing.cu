#include <algorithm>

#include "cxx/cuda/contraction/gpu_kernels.hpp"
#include "cxx/cuda/kernel/check.hpp"

/// Copies of operands in another order.
namespace trifuse::contraction::gpu {

namespace {

constexpr int side = 32, rows_at_once = 8;

/// The axes of a copy. The first two are contiguous in the operand and in the copy.
struct PackingAxes {
  std::int32_t axes;
  Divisor extent[max_indices];
  std::int64_t from[max_indices], to[max_indices];
};

/// A CTA copies squares of `side` values of the two contiguous indices through shared memory.
__global__ void __launch_bounds__(side* rows_at_once)
    pack_operand(const __grid_constant__ PackingAxes axes, std::int32_t squares, const double* from, double* to) {
  __shared__ double square[side][side + 1];
  const Divisor across((axes.extent[0].number() + side - 1) / side), down((axes.extent[1].number() + side - 1) / side);
  const int lane = static_cast<int>(threadIdx.x), first_row = static_cast<int>(threadIdx.y);
  for (std::int32_t n = static_cast<std::int32_t>(blockIdx.x); n < squares; n += static_cast<std::int32_t>(gridDim.x)) {
    const auto [rest, x] = across.divide(n);
    auto [number, y] = down.divide(rest);
    std::int64_t from_offset = 0, to_offset = 0;
    for (int axis = 2; axis < axes.axes; ++axis) {
      const auto [next, value] = axes.extent[axis].divide(number);
      number = next;
      from_offset += value * axes.from[axis];
      to_offset += value * axes.to[axis];
    }
    const int first = x * side, second = y * side;
    __syncthreads();
    for (int row = first_row; row < side; row += rows_at_once) {
      if (first + lane < axes.extent[0].number() && second + row < axes.extent[1].number()) {
        square[row][lane] = from[from_offset + (first + lane) * axes.from[0] + (second + row) * axes.from[1]];
      }
    }
    __syncthreads();
    for (int row = first_row; row < side; row += rows_at_once) {
      if (first + row < axes.extent[0].number() && second + lane < axes.extent[1].number()) {
        to[to_offset + (first + row) * axes.to[0] + (second + lane) * axes.to[1]] = square[lane][row];
      }
    }
  }
}

}

void launch_packing(const GpuPacking& packing, const double* from, double* to, cudaStream_t stream) {
  PackingAxes axes{};
  std::int64_t squares = 1;
  const auto add = [&](std::size_t n) {
    const GpuPacking::Axis& axis = packing.axes[n];
    axes.extent[axes.axes] = Divisor(static_cast<std::int32_t>(axis.extent));
    axes.from[axes.axes] = axis.from;
    axes.to[axes.axes] = axis.to;
    squares *= axes.axes < 2 ? (axis.extent + side - 1) / side : axis.extent;
    ++axes.axes;
  };
  add(packing.from_axis);
  add(packing.to_axis);
  for (std::size_t n = 0; n < packing.axes.size(); ++n) {
    if (n != packing.from_axis && n != packing.to_axis) add(n);
  }
  constexpr std::int64_t most_blocks = 1 << 16;
  const auto blocks = static_cast<unsigned>(std::min(squares, most_blocks));
  pack_operand<<<blocks, dim3(side, rows_at_once), 0, stream>>>(axes, static_cast<std::int32_t>(squares), from, to);
  TRIFUSE_CUDA(cudaGetLastError());
}

}
