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
constexpr int tile_rows = 64;               ///< of C in a CTA
constexpr int k_tile = Fp64::k_tile_depth;  ///< contracted indices of one stage
constexpr int stages = 2;                   ///< k-tiles in shared memory
constexpr int warps = 4, threads = 32 * warps;
constexpr int doubles_of_copy = 2;  ///< one asynchronous copy of 16 bytes
constexpr int row_gap = 4;          ///< doubles between rows in shared memory; without them banks collide

/// How a CTA divides its tile of C, which has 64 rows and `columns` columns.
template <int columns>
struct Tiling {
  static constexpr int warp_columns = 32, warps_n = columns / warp_columns, warps_m = warps / warps_n;
  static constexpr int warp_rows = tile_rows / warps_m;
  static constexpr int fragments_m = warp_rows / fragment_rows, fragments_n = warp_columns / fragment_columns;
  static constexpr int a_row = k_tile + row_gap,
                       b_row = columns + row_gap;                   ///< strides in shared memory
  static constexpr int stage = tile_rows * a_row + k_tile * b_row;  ///< doubles
  static constexpr int shared_bytes = stages * stage * static_cast<int>(sizeof(double));
};

/// Copies two doubles to shared memory. `inside`: how many of them exist; zeros
/// replace the others.
__device__ __forceinline__ void copy_pair(double* to, const double* from, int inside) {
  const int exist = inside < 0 ? 0 : inside < doubles_of_copy ? inside : doubles_of_copy;
  constexpr int size = sizeof(double);
  __pipeline_memcpy_async(to, from, doubles_of_copy * size, (doubles_of_copy - exist) * size);
}

/// The elements of A and B that one thread loads, k-tile by k-tile.
template <int columns>
class Loader {
  using T = Tiling<columns>;
  static constexpr int pairs_of_a_row = k_tile / doubles_of_copy, pairs_of_b_row = columns / doubles_of_copy;
  static constexpr int a_rows_at_once = threads / pairs_of_a_row, b_rows_at_once = threads / pairs_of_b_row;
  static constexpr int a_copies = tile_rows / a_rows_at_once, b_copies = k_tile / b_rows_at_once;

 public:
  __device__ __forceinline__ explicit Loader(const SlabProduct& p)
      : a_row_(static_cast<int>(threadIdx.x) / pairs_of_a_row),
        a_k_(static_cast<int>(threadIdx.x) % pairs_of_a_row * doubles_of_copy),
        b_k_(static_cast<int>(threadIdx.x) / pairs_of_b_row),
        b_column_(static_cast<int>(threadIdx.x) % pairs_of_b_row * doubles_of_copy),
        rows_(p.rows - static_cast<int>(blockIdx.y) * tile_rows - a_row_),
        depth_(p.depth),
        columns_(p.columns - static_cast<int>(blockIdx.x) * columns - b_column_),
        a_(p.a + (static_cast<std::int64_t>(blockIdx.y) * tile_rows + a_row_) * p.a_row + a_k_),
        b_(p.b + blockIdx.z * p.b_batch + b_k_ * p.b_row + static_cast<std::int64_t>(blockIdx.x) * columns + b_column_),
        a_step_(a_rows_at_once * p.a_row),
        b_step_(b_rows_at_once * p.b_row) {}

  /// Loads the next k-tile into a stage. Addresses outside of the arrays are
  /// not read.
  __device__ __forceinline__ void load(const SlabProduct& p, double* stage) {
    double* const to_a = stage + a_row_ * T::a_row + a_k_;
#pragma unroll
    for (int n = 0; n < a_copies; ++n) {
      const int inside = n * a_rows_at_once < rows_ ? depth_ - a_k_ : 0;
      copy_pair(to_a + n * a_rows_at_once * T::a_row, inside > 0 ? a_ + n * a_step_ : p.a, inside);
    }
    double* const to_b = stage + tile_rows * T::a_row + b_k_ * T::b_row + b_column_;
#pragma unroll
    for (int n = 0; n < b_copies; ++n) {
      const int inside = b_k_ + n * b_rows_at_once < depth_ ? columns_ : 0;
      copy_pair(to_b + n * b_rows_at_once * T::b_row, inside > 0 ? b_ + n * b_step_ : p.b, inside);
    }
    a_ += k_tile;
    b_ += b_copies * b_step_;
    depth_ -= k_tile;
  }

 private:
  int a_row_, a_k_, b_k_, b_column_;  ///< of the first copies, in the tile
  int rows_, depth_, columns_;        ///< that are left from the next copy on
  const double *a_, *b_;
  std::int64_t a_step_, b_step_;
};

/// One CTA computes 64 rows and `columns` columns of one matrix of the batch. Two CTAs share a multiprocessor: one
/// multiplies while the other one waits for operands.
template <int columns>
__global__ __launch_bounds__(threads, 2) void slab_product(const SlabProduct p) {
  using T = Tiling<columns>;
  extern __shared__ __align__(16) double shared[];
  const int thread = static_cast<int>(threadIdx.x), warp = thread / 32, lane = thread % 32;
  const int r = lane / 4, q = lane % 4;
  const int row_of_warp = warp / T::warps_n * T::warp_rows, column_of_warp = warp % T::warps_n * T::warp_columns;
  double sums[T::fragments_m][T::fragments_n][4] = {};
  const int tiles = static_cast<int>(ceil_div(p.depth, k_tile));
  Loader<columns> loader(p);
#pragma unroll
  for (int s = 0; s < stages - 1; ++s) {
    if (s < tiles) loader.load(p, shared + s * T::stage);
    __pipeline_commit();
  }
  for (int tile = 0; tile < tiles; ++tile) {
    __pipeline_wait_prior(stages - 2);
    __syncthreads();
    const double* a = shared + tile % stages * T::stage + (row_of_warp + r) * T::a_row + q;
    const double* b = shared + tile % stages * T::stage + tile_rows * T::a_row + q * T::b_row + column_of_warp + r;
#pragma unroll
    for (int step = 0; step < k_tile / Fp64::k_step; ++step, a += Fp64::k_step, b += Fp64::k_step * T::b_row) {
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
      if (step == 0) {
        if (tile + stages - 1 < tiles) loader.load(p, shared + (tile + stages - 1) % stages * T::stage);
        __pipeline_commit();
      }
#pragma unroll
      for (int i = 0; i < T::fragments_m; ++i) {
#pragma unroll
        for (int j = 0; j < T::fragments_n; ++j) multiply(Instruction{}, sums[i][j], of_a[i], of_b[j]);
      }
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
  // The tile that covers fewer columns beyond the end; of two equal ones the
  // larger tile.
  constexpr int narrow = 64, wide = 128;
  if (ceil_div(product.columns, narrow) * narrow < ceil_div(product.columns, wide) * wide) {
    launch_tiled<narrow>(product, stream);
  } else {
    launch_tiled<wide>(product, stream);
  }
}

}  // namespace trifuse::gpu
