#include "cxx/cuda/kernel/slab_product.hpp"

#include <cuda_pipeline_primitives.h>

#include <algorithm>

#include "cxx/cuda/kernel/check.hpp"
#include "cxx/cuda/kernel/instructions.cuh"
#include "cxx/cuda/schedule/layout.hpp"

namespace trifuse::gpu {

namespace {

/// The fastest instruction of the architecture that the code is compiled for.
#if __CUDA_ARCH__ >= 900
using Instruction = MmaM16N8K8;
#elif __CUDA_ARCH__ >= 800
using Instruction = MmaM8N8K4;
#else
using Instruction = Fma;
#endif

constexpr int fragment_rows = Fp64::rows, fragment_columns = Fp64::columns;
constexpr int tile_rows = 128;        ///< of C in a CTA
constexpr int k_tile = Fp64::k_step;  ///< contracted indices of one stage
constexpr int stages = 3;             ///< k-tiles in shared memory
constexpr int warps = 8, threads = 32 * warps;
constexpr int doubles_of_copy = 2;  ///< one asynchronous copy of 16 bytes
constexpr int row_gap = 4;          ///< doubles between rows in shared memory; without them banks collide

/// How a CTA divides its tile of C, which has 128 rows and `columns` columns.
template <int columns>
struct Tiling {
  static constexpr int warp_columns = 32, warps_n = columns / warp_columns, warps_m = warps / warps_n;
  static constexpr int warp_rows = tile_rows / warps_m;
  static constexpr int fragments_m = warp_rows / fragment_rows, fragments_n = warp_columns / fragment_columns;
  static constexpr int a_row = k_tile + row_gap, b_row = columns + row_gap;  ///< strides in shared memory
  static constexpr int stage = tile_rows * a_row + k_tile * b_row;           ///< doubles
  static constexpr int shared_bytes = stages * stage * static_cast<int>(sizeof(double));
};

/// Copies two doubles to shared memory. `inside`: how many of them exist; zeros replace the others.
__device__ __forceinline__ void copy_pair(double* to, const double* from, std::int64_t inside) {
  const int exist = static_cast<int>(inside < 0 ? 0 : inside < doubles_of_copy ? inside : doubles_of_copy);
  constexpr int size = sizeof(double);
  __pipeline_memcpy_async(to, from, doubles_of_copy * size, (doubles_of_copy - exist) * size);
}

/// Loads k-tile `tile` of A and B into one stage.
template <int columns>
__device__ __forceinline__ void load(const SlabProduct& p, int tile, double* stage) {
  using T = Tiling<columns>;
  const int thread = static_cast<int>(threadIdx.x), k0 = tile * k_tile;
  const int row0 = static_cast<int>(blockIdx.y) * tile_rows, column0 = static_cast<int>(blockIdx.x) * columns;
  constexpr int pairs_of_a_row = k_tile / doubles_of_copy, pairs_of_b_row = columns / doubles_of_copy;
#pragma unroll
  for (int n = thread; n < tile_rows * pairs_of_a_row; n += threads) {
    const int row = n / pairs_of_a_row, k = n % pairs_of_a_row * doubles_of_copy;
    const bool inside = row0 + row < p.rows && k0 + k < p.depth;
    const double* from = inside ? p.a + (row0 + row) * p.a_row + k0 + k : p.a;
    copy_pair(stage + row * T::a_row + k, from, inside ? p.depth - k0 - k : 0);
  }
  const double* const b = p.b + blockIdx.z * p.b_batch;
  double* const to = stage + tile_rows * T::a_row;
#pragma unroll
  for (int n = thread; n < k_tile * pairs_of_b_row; n += threads) {
    const int k = n / pairs_of_b_row, column = n % pairs_of_b_row * doubles_of_copy;
    const bool inside = k0 + k < p.depth && column0 + column < p.columns;
    const double* from = inside ? b + (k0 + k) * p.b_row + column0 + column : b;
    copy_pair(to + k * T::b_row + column, from, inside ? p.columns - column0 - column : 0);
  }
}

/// One CTA computes 128 rows and `columns` columns of one matrix of the batch.
template <int columns>
__global__ __launch_bounds__(threads, 1) void slab_product(const SlabProduct p) {
  using T = Tiling<columns>;
  extern __shared__ __align__(16) double shared[];
  const int thread = static_cast<int>(threadIdx.x), warp = thread / 32, lane = thread % 32;
  const int r = lane / 4, q = lane % 4;
  const int row_of_warp = warp / T::warps_n * T::warp_rows, column_of_warp = warp % T::warps_n * T::warp_columns;
  double sums[T::fragments_m][T::fragments_n][4] = {};
  const int tiles = static_cast<int>(ceil_div(p.depth, k_tile));
#pragma unroll
  for (int s = 0; s < stages - 1; ++s) {
    if (s < tiles) load<columns>(p, s, shared + s * T::stage);
    __pipeline_commit();
  }
  for (int tile = 0; tile < tiles; ++tile) {
    __pipeline_wait_prior(stages - 2);
    __syncthreads();
    if (tile + stages - 1 < tiles)
      load<columns>(p, tile + stages - 1, shared + (tile + stages - 1) % stages * T::stage);
    __pipeline_commit();
    const double* const a = shared + tile % stages * T::stage + (row_of_warp + r) * T::a_row + q;
    const double* const b =
        shared + tile % stages * T::stage + tile_rows * T::a_row + q * T::b_row + column_of_warp + r;
    double of_a[T::fragments_m][4], of_b[T::fragments_n][2];
#pragma unroll
    for (int i = 0; i < T::fragments_m; ++i) {
      const double* const rows = a + i * fragment_rows * T::a_row;
      of_a[i][0] = rows[0];
      of_a[i][1] = rows[8 * T::a_row];
      of_a[i][2] = rows[4];
      of_a[i][3] = rows[8 * T::a_row + 4];
    }
#pragma unroll
    for (int j = 0; j < T::fragments_n; ++j) {
      of_b[j][0] = b[j * fragment_columns];
      of_b[j][1] = b[4 * T::b_row + j * fragment_columns];
    }
#pragma unroll
    for (int i = 0; i < T::fragments_m; ++i) {
#pragma unroll
      for (int j = 0; j < T::fragments_n; ++j) multiply(Instruction{}, sums[i][j], of_a[i], of_b[j]);
    }
  }
  double* const c = p.c + blockIdx.z * p.c_batch;
#pragma unroll
  for (int i = 0; i < T::fragments_m; ++i) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = static_cast<int>(blockIdx.y) * tile_rows + row_of_warp + i * fragment_rows + half * 8 + r;
      if (row >= p.rows) continue;
      double* const c_row = c + row / p.inner_rows * p.c_outer + row % p.inner_rows * p.c_inner;
#pragma unroll
      for (int j = 0; j < T::fragments_n; ++j) {
        const int column = static_cast<int>(blockIdx.x) * columns + column_of_warp + j * fragment_columns + 2 * q;
        if (column >= p.columns) continue;
        double2* const to = reinterpret_cast<double2*>(c_row + column);
        double2 value = p.adds ? *to : double2{0.0, 0.0};
        value.x = fma(p.sign, sums[i][j][2 * half], value.x);
        value.y = fma(p.sign, sums[i][j][2 * half + 1], value.y);
        *to = value;
      }
    }
  }
}

template <int columns>
void launch_tiled(const SlabProduct& product, cudaStream_t stream) {
  using T = Tiling<columns>;
  // The limit belongs to the current device. Setting it again costs nothing.
  TRIFUSE_CUDA(
      cudaFuncSetAttribute(slab_product<columns>, cudaFuncAttributeMaxDynamicSharedMemorySize, T::shared_bytes));
  const dim3 grid(static_cast<unsigned>(ceil_div(product.columns, columns)),
                  static_cast<unsigned>(ceil_div(product.rows, tile_rows)), static_cast<unsigned>(product.batches));
  slab_product<columns><<<grid, threads, T::shared_bytes, stream>>>(product);
  TRIFUSE_CUDA(cudaGetLastError());
}

}  // namespace

void launch_slab_product(const SlabProduct& product, cudaStream_t stream) {
  if (product.batches == 0 || product.rows == 0 || product.columns == 0) return;
  // The tile that covers fewer columns beyond the end; of two equal ones the larger tile.
  constexpr int narrow = 64, wide = 128;
  if (ceil_div(product.columns, narrow) * narrow < ceil_div(product.columns, wide) * wide) {
    launch_tiled<narrow>(product, stream);
  } else {
    launch_tiled<wide>(product, stream);
  }
}

}  // namespace trifuse::gpu
