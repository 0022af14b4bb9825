#include "cxx/cuda/contraction/kernel_choice.cuh"
#include "cxx/cuda/contraction/tile_place.cuh"
#include "cxx/cuda/contraction/warp_sums.cuh"

/// Small tiles, each computed by one warp by matrix instructions. Operands come from memory to registers, each element
/// once for a tile.
namespace trifuse::contraction::gpu {

namespace {

constexpr int threads = 256, warps = threads / 32;

/// Loads the values of a line at two successive contracted values, or zeros where there are none.
__device__ __forceinline__ double2 load_values(const double* line, const std::int32_t* k, int first, int count,
                                               bool exists, bool neighbours) {
  if (!exists || first >= count) return make_double2(0.0, 0.0);
  if (first + 1 >= count) return make_double2(__ldg(line + k[first]), 0.0);
  if (neighbours) return __ldg(reinterpret_cast<const double2*>(line + k[first]));
  return make_double2(__ldg(line + k[first]), __ldg(line + k[first + 1]));
}

template <std::size_t shape>
__global__ void __launch_bounds__(threads, kernel_shapes[shape].ctas)
    contract_by_warps(const __grid_constant__ Parameters p) {
  constexpr KernelShape kernel = kernel_shapes[shape];
  constexpr int m_count = kernel.row_warps, n_count = kernel.column_warps;
  static_assert(kernel.rows == 16 * m_count && kernel.columns == 8 * n_count);
  __shared__ TileLines<kernel.rows> row_lines;
  __shared__ TileLines<kernel.columns> column_lines;
  __shared__ std::int32_t row_k[kernel.step], column_k[kernel.step];
  row_lines.template load<threads>(p.rows);
  column_lines.template load<threads>(p.columns);
  for (int n = static_cast<int>(threadIdx.x); n < p.k; n += threads) {
    row_k[n] = p.rows.k[n];
    column_k[n] = p.columns.k[n];
  }
  __syncthreads();
  const int lane = static_cast<int>(threadIdx.x) % 32, q = lane % 4, lane_row = lane / 4;
  const bool row_pairs = p.rows.pairs && !p.rows.along_lines, column_pairs = p.columns.pairs && !p.columns.along_lines;
  WarpSums<m_count, n_count> sums(0, 0, lane);
  for (int tile = static_cast<int>(blockIdx.x) * warps + static_cast<int>(threadIdx.x) / 32; tile < p.order.size();
       tile += static_cast<int>(gridDim.x) * warps) {
    const TilePlace place(p, tile);
    const double *const of_rows = place.of_rows(p), *const of_columns = place.of_columns(p);
    sums.clear();
#pragma unroll 2
    for (int k = 2 * q; k < (p.k + 7) / 8 * 8; k += 8) {
      double a[m_count][4], b[n_count][2];
#pragma unroll
      for (int m = 0; m < m_count; ++m) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const int row = 16 * m + 8 * half + lane_row;
          const double2 values =
              load_values(of_rows + row_lines.operand[row], row_k, k, p.k, row < p.rows.line_count, row_pairs);
          a[m][half] = values.x, a[m][2 + half] = values.y;
        }
      }
#pragma unroll
      for (int n = 0; n < n_count; ++n) {
        const int column = 8 * n + lane_row;
        const double2 values = load_values(of_columns + column_lines.operand[column], column_k, k, p.k,
                                           column < p.columns.line_count, column_pairs);
        b[n][0] = values.x, b[n][1] = values.y;
      }
      sums.add(a, b);
    }
    sums.store(p, p.c + place.c, row_lines, column_lines, place.rows.hidden, place.columns.hidden);
  }
}

}

const void* warp_kernel(const GpuPlan& plan) {
  const void* found = nullptr;
  const auto try_shape = [&](auto shape) {
    if constexpr (kernel_shapes[shape()].kind == KernelKind::by_warps) {
      if (plan.shape == shape()) found = reinterpret_cast<const void*>(&contract_by_warps<shape()>);
    }
  };
  for_each_shape(try_shape);
  return found;
}

}
