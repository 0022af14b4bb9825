#pragma once

#include "cxx/cuda/contraction/tile_place.cuh"
#include "cxx/cuda/kernel/instructions.cuh"

namespace trifuse::contraction::gpu {

using trifuse::gpu::multiply;

/// Rows or columns of a tile, in shared memory.
template <int count>
struct TileLines {
  std::int32_t operand[count], c[count];
  std::uint32_t hidden[count];
  std::uint16_t order[count];

  template <int threads>
  __device__ __forceinline__ void load(const OperandParameters& from) {
    for (int n = static_cast<int>(threadIdx.x); n < count; n += threads) {
      const Line line = from.lines[n];
      operand[n] = line.operand;
      c[n] = line.c;
      hidden[n] = line.hidden;
      order[n] = from.line_order[n];
    }
  }
};

/// The sums of a warp: 16 * m_count rows, 8 * n_count columns.
template <int m_count, int n_count>
struct WarpSums {
  double sum[m_count][n_count][4];
  int row, column;  ///< first row and column of this lane in the tile

  __device__ __forceinline__ WarpSums(int first_row, int first_column, int lane)
      : row(first_row + lane / 4), column(first_column + lane % 4 * 2) {}
  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int m = 0; m < m_count; ++m)
#pragma unroll
      for (int n = 0; n < n_count; ++n)
#pragma unroll
        for (double& x : sum[m][n]) x = 0.0;
  }
  /// Adds the products of fragments of 8 contracted values, see instructions.cuh.
  __device__ __forceinline__ void add(const double (&a)[m_count][4], const double (&b)[n_count][2]) {
#pragma unroll
    for (int m = 0; m < m_count; ++m)
#pragma unroll
      for (int n = 0; n < n_count; ++n) multiply(trifuse::gpu::MmaM16N8K8{}, sum[m][n], a[m], b[n]);
  }
  /// Stores alpha * sum + beta * c.
  template <int rows, int columns>
  __device__ __forceinline__ void store(const Parameters& p, double* c, const TileLines<rows>& row_lines,
                                        const TileLines<columns>& column_lines, std::uint32_t hidden_rows,
                                        std::uint32_t hidden_columns) const {
#pragma unroll
    for (int m = 0; m < m_count; ++m) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int r = row + 16 * m + 8 * half;
        if ((row_lines.hidden[r] & hidden_rows) != 0) continue;
        double* const to = c + row_lines.c[r];
#pragma unroll
        for (int n = 0; n < n_count; ++n) {
          const int col = column + 8 * n;
          const double x = p.alpha * sum[m][n][2 * half], y = p.alpha * sum[m][n][2 * half + 1];
          if (p.c_pairs) {
            if ((column_lines.hidden[col] & hidden_columns) != 0) continue;
            double2* const at = reinterpret_cast<double2*>(to + column_lines.c[col]);
            double2 value = make_double2(x, y);
            if (p.beta != 0.0) {
              const double2 old = *at;
              value = make_double2(fma(p.beta, old.x, x), fma(p.beta, old.y, y));
            }
            *at = value;
          } else {
            if ((column_lines.hidden[col] & hidden_columns) == 0) store_element(to + column_lines.c[col], x, p.beta);
            if ((column_lines.hidden[col + 1] & hidden_columns) == 0)
              store_element(to + column_lines.c[col + 1], y, p.beta);
          }
        }
      }
    }
  }
  /// Stores the sums as a part of a tile. `to`: [rows, columns] of the tile.
  __device__ __forceinline__ void store_part(double* to, int columns) const {
#pragma unroll
    for (int m = 0; m < m_count; ++m)
#pragma unroll
      for (int half = 0; half < 2; ++half)
#pragma unroll
        for (int n = 0; n < n_count; ++n)
          *reinterpret_cast<double2*>(to + (row + 16 * m + 8 * half) * columns + column + 8 * n) =
              make_double2(sum[m][n][2 * half], sum[m][n][2 * half + 1]);
  }
};

}
