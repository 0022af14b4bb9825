#pragma once

#include "cxx/cuda/contraction/gpu_kernels.hpp"

namespace trifuse::contraction::gpu {

/// Where the elements of a tile are.
struct TilePlace {
  TileOrigin rows, columns;
  std::int32_t batch_rows, batch_columns;
  std::int32_t c;

  __device__ __forceinline__ TilePlace(const Parameters& p, std::int32_t tile) {
    const TileNumber number = p.order.at(tile);
    const auto batch = outer_offset(p.batch, number.batch);
    rows = tile_origin(p.rows.grid, number.row);
    columns = tile_origin(p.columns.grid, number.column);
    batch_rows = batch[0];
    batch_columns = batch[1];
    c = rows.c + columns.c + batch[2];
  }
  __device__ __forceinline__ const double* of_rows(const Parameters& p) const {
    return p.rows.data + rows.operand + batch_rows;
  }
  __device__ __forceinline__ const double* of_columns(const Parameters& p) const {
    return p.columns.data + columns.operand + batch_columns;
  }
};

/// Stores value + beta * c. Does not read c if `beta` is 0.
__device__ __forceinline__ void store_element(double* c, double value, double beta) {
  *c = beta == 0.0 ? value : fma(beta, *c, value);
}

}
