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
constexpr int tile_rows = 64;               ///< rows of C that a CTA computes
constexpr int k_tile = Fp64::k_tile_depth;  ///< contracted indices of one stage
constexpr int stages = 2;                   ///< k-tiles in shared memory
constexpr int warps = 4, threads = 32 * warps;
constexpr int doubles_of_copy = 2;  ///< one asynchronous copy of 16 bytes
constexpr int row_gap = 4;          ///< gap of doubles between rows in shared memory, against bank conflicts

/// How a CTA divides its tile of C, which has 64 rows and `columns` columns. `transposed`: SlabProduct::b_transposed.
template <int columns, bool transposed>
struct Tiling {
  static constexpr int warp_columns = 32, warps_n = columns / warp_columns, warps_m = warps / warps_n;
  static constexpr int warp_rows = tile_rows / warps_m;
  static constexpr int fragments_m = warp_rows / fragment_rows, fragments_n = warp_columns / fragment_columns;
  // The k-tile of B in shared memory is [k, column], and [column, k] if `transposed`.
  static constexpr int b_rows = transposed ? columns : k_tile, b_length = transposed ? k_tile : columns;
  static constexpr int a_row = k_tile + row_gap, b_row = b_length + row_gap;             ///< strides in shared memory
  static constexpr int b_k = transposed ? 1 : b_row, b_column = transposed ? b_row : 1;  ///< strides in shared memory
  static constexpr int stage = tile_rows * a_row + b_rows * b_row;                       ///< doubles
  static constexpr int shared_bytes = stages * stage * static_cast<int>(sizeof(double));
};

/// Copies two doubles to shared memory. `inside`: how many of them exist; zeros replace the others.
__device__ __forceinline__ void copy_pair(double* to, const double* from, int inside) {
  const int exist = inside < 0 ? 0 : inside < doubles_of_copy ? inside : doubles_of_copy;
  constexpr int size = sizeof(double);
  __pipeline_memcpy_async(to, from, doubles_of_copy * size, (doubles_of_copy - exist) * size);
}

/// Loads one thread's elements of an operand, k-tile by k-tile. The elements of a row are contiguous. A k-tile has
/// `rows` rows of `length` elements, with stride `stride` in shared memory. `along_rows`: true if k counts the elements
/// of a row, false if it counts the rows.
template <int rows, int length, int stride, bool along_rows>
class Loader {
  static constexpr int pairs_of_row = length / doubles_of_copy, rows_at_once = threads / pairs_of_row;
  static constexpr int copies = rows / rows_at_once;

 public:
  /// `from`: the first k-tile of this CTA. `row_step`: distance between rows. `rows_left`, `elements_left`: numbers of
  /// rows, and of elements of a row, that the operand has from `from` on.
  __device__ __forceinline__ Loader(const double* from, std::int64_t row_step, int rows_left, int elements_left)
      : row_(static_cast<int>(threadIdx.x) / pairs_of_row),
        element_(static_cast<int>(threadIdx.x) % pairs_of_row * doubles_of_copy),
        rows_left_(rows_left - row_),
        elements_left_(elements_left - element_),
        begin_(from),
        from_(from + row_ * row_step + element_),
        step_(rows_at_once * row_step) {}

  /// Loads the next k-tile. Addresses outside of the operand are not read.
  __device__ __forceinline__ void load(double* k_tile_of_stage) {
    double* const to = k_tile_of_stage + row_ * stride + element_;
#pragma unroll
    for (int n = 0; n < copies; ++n) {
      const int inside = n * rows_at_once < rows_left_ ? elements_left_ : 0;
      copy_pair(to + n * rows_at_once * stride, inside > 0 ? from_ + n * step_ : begin_, inside);
    }
    if constexpr (along_rows) {
      from_ += k_tile;
      elements_left_ -= k_tile;
    } else {
      from_ += copies * step_;
      rows_left_ -= k_tile;
    }
  }

 private:
  int row_, element_;              ///< place of the first copy in the k-tile
  int rows_left_, elements_left_;  ///< what the operand has from the next copy on
  const double *begin_, *from_;
  std::int64_t step_;
};

/// Computes the products. One CTA computes 64 rows and `columns` columns of one matrix C. Two CTAs share a
/// multiprocessor: one multiplies while the other one waits for operands.
template <int columns, bool transposed>
__global__ __launch_bounds__(threads, 2) void slab_product(const SlabProduct p) {
  using T = Tiling<columns, transposed>;
  extern __shared__ __align__(16) double shared[];
  const int thread = static_cast<int>(threadIdx.x), warp = thread / 32, lane = thread % 32;
  const int r = lane / 4, q = lane % 4;
  const int row_of_warp = warp / T::warps_n * T::warp_rows, column_of_warp = warp % T::warps_n * T::warp_columns;
  double sums[T::fragments_m][T::fragments_n][4] = {};
  const int tiles = static_cast<int>(ceil_div(p.depth, k_tile));
  const int first_row = static_cast<int>(blockIdx.y) * tile_rows, first_column = static_cast<int>(blockIdx.x) * columns;
  Loader<tile_rows, k_tile, T::a_row, true> load_a(p.a + first_row * p.a_row, p.a_row, p.rows - first_row, p.depth);
  const double* const b_of_cta = p.b + blockIdx.z * p.b_matrix + first_column * (transposed ? p.b_row : 1);
  const int columns_left = p.columns - first_column;
  Loader<T::b_rows, T::b_length, T::b_row, transposed> load_b(b_of_cta, p.b_row, transposed ? columns_left : p.depth,
                                                              transposed ? p.depth : columns_left);
  const auto load = [&](int tile) {
    double* const stage = shared + tile % stages * T::stage;
    load_a.load(stage);
    load_b.load(stage + tile_rows * T::a_row);
  };
#pragma unroll
  for (int s = 0; s < stages - 1; ++s) {
    if (s < tiles) load(s);
    __pipeline_commit();
  }
  for (int tile = 0; tile < tiles; ++tile) {
    __pipeline_wait_prior(stages - 2);
    __syncthreads();
    const double* a = shared + tile % stages * T::stage + (row_of_warp + r) * T::a_row + q;
    const double* b =
        shared + tile % stages * T::stage + tile_rows * T::a_row + q * T::b_k + (column_of_warp + r) * T::b_column;
#pragma unroll
    for (int step = 0; step < k_tile / Fp64::k_step; ++step, a += Fp64::k_step, b += Fp64::k_step * T::b_k) {
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
        of_b[j][0] = b[j * fragment_columns * T::b_column];
        of_b[j][1] = b[4 * T::b_k + j * fragment_columns * T::b_column];
      }
      if (step == 0) {
        if (tile + stages - 1 < tiles) load(tile + stages - 1);
        __pipeline_commit();
      }
#pragma unroll
      for (int i = 0; i < T::fragments_m; ++i) {
#pragma unroll
        for (int j = 0; j < T::fragments_n; ++j) multiply(Instruction{}, sums[i][j], of_a[i], of_b[j]);
      }
    }
  }
  double* const c = p.c + blockIdx.z * p.c_matrix;
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

template <int columns, bool transposed>
void launch_tiled(const SlabProduct& product, cudaStream_t stream) {
  constexpr int shared_bytes = Tiling<columns, transposed>::shared_bytes;
  // The limit belongs to the current device. Setting it again costs nothing.
  TRIFUSE_CUDA(cudaFuncSetAttribute(slab_product<columns, transposed>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    shared_bytes));
  const dim3 grid(static_cast<unsigned>(ceil_div(product.columns, columns)),
                  static_cast<unsigned>(ceil_div(product.rows, tile_rows)), static_cast<unsigned>(product.matrices));
  slab_product<columns, transposed><<<grid, threads, shared_bytes, stream>>>(product);
  TRIFUSE_CUDA(cudaGetLastError());
}

}

void launch_slab_product(const SlabProduct& product, cudaStream_t stream) {
  if (product.matrices == 0 || product.rows == 0 || product.columns == 0) return;
  constexpr int narrow = 64, wide = 128;
  // The columns are the particles of a tile, which are few.
  if (product.b_transposed) return launch_tiled<narrow, true>(product, stream);
  // Takes the tile that covers fewer columns beyond the end, or if both cover as many, the larger tile.
  if (ceil_div(product.columns, narrow) * narrow < ceil_div(product.columns, wide) * wide) {
    launch_tiled<narrow, false>(product, stream);
  } else {
    launch_tiled<wide, false>(product, stream);
  }
}

}
