#include "cxx/cuda/contraction/tile_place.cuh"

/// The kernel of small products, for every GPU.
namespace trifuse::contraction::gpu {

namespace {

constexpr KernelShape small = kernel_shapes[1];
static_assert(small.kind == KernelKind::small);
constexpr int threads = 256, thread_rows = small.row_warps, thread_columns = small.column_warps;
static_assert(thread_columns == 2, "two columns are loaded and stored at once");

/// Loads two neighbouring values, or two values that are not neighbours.
__device__ __forceinline__ double2 load_two(const double* first, const double* second, bool neighbours) {
  if (neighbours) return __ldg(reinterpret_cast<const double2*>(first));
  return make_double2(__ldg(first), __ldg(second));
}

/// Each thread computes `thread_rows` rows and two columns of a product, and then those of another product. Operands
/// come through the first-level cache.
__global__ void __launch_bounds__(threads) contract_small(const __grid_constant__ Parameters p) {
  __shared__ std::int32_t row_k[small.step], column_k[small.step];
  __shared__ Line row_lines[small.rows], column_lines[small.columns];
  for (int n = static_cast<int>(threadIdx.x); n < p.k; n += threads) {
    row_k[n] = p.rows.k[n];
    column_k[n] = p.columns.k[n];
  }
  if (threadIdx.x < small.rows) row_lines[threadIdx.x] = p.rows.lines[threadIdx.x];
  if (threadIdx.x < small.columns) column_lines[threadIdx.x] = p.columns.lines[threadIdx.x];
  __syncthreads();
  const bool pairs = p.columns.pairs && p.columns.along_lines;
  const auto count = static_cast<std::uint32_t>(p.order.size() * p.blocks.number());
  for (std::uint32_t n = blockIdx.x * threads + threadIdx.x; n < count; n += gridDim.x * threads) {
    const auto [tile, block] = p.blocks.divide(static_cast<std::int32_t>(n));
    const auto [row_block, column_block] = p.column_blocks.divide(block);
    const TilePlace place(p, tile);
    const int column = column_block * thread_columns, last_column = min(column + 1, p.columns.line_count - 1);
    const double *first[thread_rows], *const x = place.of_columns(p) + column_lines[column].operand,
                                             *const y = place.of_columns(p) + column_lines[last_column].operand;
#pragma unroll
    for (int r = 0; r < thread_rows; ++r) {
      const int row = min(row_block * thread_rows + r, p.rows.line_count - 1);
      first[r] = place.of_rows(p) + row_lines[row].operand;
    }
    double sum[thread_rows][2] = {};
#pragma unroll 4
    for (int k = 0; k < p.k; ++k) {
      const double2 b = load_two(x + column_k[k], y + column_k[k], pairs);
#pragma unroll
      for (int r = 0; r < thread_rows; ++r) {
        const double a = __ldg(first[r] + row_k[k]);
        sum[r][0] = fma(a, b.x, sum[r][0]);
        sum[r][1] = fma(a, b.y, sum[r][1]);
      }
    }
    const bool stored = (column_lines[column].hidden & place.columns.hidden) == 0,
               last_stored = last_column > column && (column_lines[last_column].hidden & place.columns.hidden) == 0;
#pragma unroll
    for (int r = 0; r < thread_rows; ++r) {
      const int row = row_block * thread_rows + r;
      if (row >= p.rows.line_count) break;
      if ((row_lines[row].hidden & place.rows.hidden) != 0) continue;
      double* const to = p.c + place.c + row_lines[row].c;
      if (p.c_pairs && p.beta == 0.0) {
        if (stored) {
          *reinterpret_cast<double2*>(to + column_lines[column].c) =
              make_double2(p.alpha * sum[r][0], p.alpha * sum[r][1]);
        }
        continue;
      }
      if (stored) store_element(to + column_lines[column].c, p.alpha * sum[r][0], p.beta);
      if (last_stored) store_element(to + column_lines[last_column].c, p.alpha * sum[r][1], p.beta);
    }
  }
}

}

const void* small_kernel(const GpuPlan& plan) {
  return plan.kernel().kind == KernelKind::small ? reinterpret_cast<const void*>(&contract_small) : nullptr;
}

}
