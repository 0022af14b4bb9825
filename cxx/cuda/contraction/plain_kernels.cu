#include <algorithm>

#include "cxx/cuda/contraction/tile_place.cuh"
#include "cxx/cuda/kernel/check.hpp"

/// Kernels for every GPU.
namespace trifuse::contraction::gpu {

namespace {

constexpr KernelShape plain = kernel_shapes[0];
static_assert(plain.kind == KernelKind::plain);
constexpr int lines = plain.rows, step = plain.step, side = 16, threads = side * side, per_thread = lines / side;
static_assert(plain.columns == lines);

/// Loads a tile [step, lines + 1] of an operand; contracted values from `valid` on become zero.
__device__ void load_plain(double (&to)[step][lines + 1], const double* from, const OperandParameters& operand,
                           const std::int32_t* k, int valid) {
  for (int n = static_cast<int>(threadIdx.x); n < lines * step; n += threads) {
    const int line = n / step, value = n % step;
    to[value][line] = value < valid ? from[operand.lines[line].operand + k[value]] : 0.0;
  }
}

__global__ void __launch_bounds__(threads) contract_plain(const __grid_constant__ Parameters p) {
  __shared__ double of_rows[step][lines + 1], of_columns[step][lines + 1];
  const int x = static_cast<int>(threadIdx.x) % side, y = static_cast<int>(threadIdx.x) / side;
  Segments segments(p.order.size(), p.steps, p.waves, static_cast<std::int32_t>(blockIdx.x),
                    static_cast<std::int32_t>(gridDim.x));
  for (Segment part = segments.next(); part.tile >= 0; part = segments.next()) {
    const TilePlace place(p, part.tile);
    double sum[per_thread][per_thread] = {};
    for (int n = part.begin; n < part.end; ++n) {
      const auto outer = outer_offset(p.outer_k, n / p.inner_steps);
      const int first = n % p.inner_steps * step;
      __syncthreads();
      load_plain(of_rows, place.of_rows(p) + outer[0], p.rows, p.rows.k + first, p.k - first);
      load_plain(of_columns, place.of_columns(p) + outer[1], p.columns, p.columns.k + first, p.k - first);
      __syncthreads();
      for (int k = 0; k < step; ++k)
        for (int r = 0; r < per_thread; ++r)
          for (int c = 0; c < per_thread; ++c)
            sum[r][c] = fma(of_rows[k][y + side * r], of_columns[k][x + side * c], sum[r][c]);
    }
    double* const to = p.c + place.c;
    for (int r = 0; r < per_thread; ++r) {
      const Line of_row = p.rows.lines[y + side * r];
      for (int c = 0; c < per_thread; ++c) {
        const Line of_column = p.columns.lines[x + side * c];
        if ((of_row.hidden & place.rows.hidden) != 0 || (of_column.hidden & place.columns.hidden) != 0) continue;
        store_element(to + of_row.c + of_column.c, p.alpha * sum[r][c], p.beta);
      }
    }
  }
}

/// Adds the parts of a divided tile in the order of their steps. Block (x, y): divided tile x, a share of its elements.
__global__ void add_partials(const __grid_constant__ Parameters p, int ctas, int rows, int columns) {
  const std::int64_t tiles = p.order.size() - p.waves * ctas, begin = blockIdx.x * std::int64_t{p.steps},
                     end = begin + p.steps;
  const auto begin_of = [&](std::int64_t cta) { return Segments::begin_of(tiles, p.steps, cta, ctas); };
  std::int64_t first = begin * ctas / (tiles * p.steps);
  while (begin_of(first + 1) <= begin) ++first;
  while (begin_of(first) > begin) --first;
  if (begin_of(first + 1) >= end) return;  // one CTA has computed the whole tile
  const TilePlace place(p, p.waves * ctas + static_cast<std::int32_t>(blockIdx.x));
  double* const c = p.c + place.c;
  for (int n = static_cast<int>(blockIdx.y * blockDim.x + threadIdx.x); n < rows * columns;
       n += static_cast<int>(gridDim.y * blockDim.x)) {
    const Line of_row = p.rows.lines[n / columns], of_column = p.columns.lines[n % columns];
    if ((of_row.hidden & place.rows.hidden) != 0 || (of_column.hidden & place.columns.hidden) != 0) continue;
    double sum = 0.0;
    for (std::int64_t cta = first; begin_of(cta) < end; ++cta) {
      if (begin_of(cta) == begin_of(cta + 1)) continue;
      // The part at the end of a tile is the first one of its CTA, see Segments.
      const std::int64_t slot = 2 * cta + (begin_of(cta) > begin ? 0 : 1);
      sum += p.partials[slot * rows * columns + n];
    }
    store_element(c + of_row.c + of_column.c, p.alpha * sum, p.beta);
  }
}

__global__ void scale(const __grid_constant__ Elements elements, double beta, double* c) {
  for (std::int64_t n = blockIdx.x * std::int64_t{blockDim.x} + threadIdx.x; n < elements.size;
       n += std::int64_t{gridDim.x} * blockDim.x) {
    std::int64_t rest = n, offset = 0;
    for (int axis = 0; axis < elements.axes; ++axis) {
      offset += rest % elements.extent[axis] * elements.stride[axis];
      rest /= elements.extent[axis];
    }
    c[offset] = beta == 0.0 ? 0.0 : beta * c[offset];
  }
}

}

const void* plain_kernel(const GpuPlan& plan) {
  return plan.kernel().kind == KernelKind::plain ? reinterpret_cast<const void*>(&contract_plain) : nullptr;
}

const void* kernel_of(const GpuPlan& plan) {
  for (const auto find : {pipelined_kernel, small_pipelined_kernel, plain_kernel, small_kernel, warp_kernel}) {
    if (const void* kernel = find(plan)) return kernel;
  }
  return nullptr;
}

void launch_add_partials(const GpuPlan& plan, const Parameters& parameters, cudaStream_t stream) {
  constexpr unsigned block = 256, wanted_blocks = 2048, most = 16;
  const auto tiles = static_cast<unsigned>(plan.order.size() - plan.waves * plan.ctas);
  const dim3 grid(tiles, std::clamp(wanted_blocks / tiles, 1u, most));
  add_partials<<<grid, block, 0, stream>>>(parameters, plan.ctas, plan.kernel().rows, plan.kernel().columns);
  TRIFUSE_CUDA(cudaGetLastError());
}

void launch_scale(const Elements& elements, double beta, double* c, cudaStream_t stream) {
  constexpr int block = 256, most = 4096;
  const auto grid = static_cast<unsigned>(std::min<std::int64_t>((elements.size + block - 1) / block, most));
  scale<<<grid, block, 0, stream>>>(elements, beta, c);
  TRIFUSE_CUDA(cudaGetLastError());
}

}
