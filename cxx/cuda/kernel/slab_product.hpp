#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

/// Matrix products of slabs of three-index factors, in double precision on every device.
namespace trifuse::gpu {

/// Several matrix products with the same left operand:
///
///     C[b, m, n] = sign * sum_k A[m, k] B[b, k, n]        added to C if `adds`
///     C[b, m, n] = sign * sum_k A[m, k] B[b, n, k]        if `b_transposed`
///
/// The order of the sum over k is the same for every element, whatever the other extents are. All arrays are in device
/// memory. Their addresses and all strides are multiples of 2 doubles. The last index of each array is contiguous.
struct SlabProduct {
  const double* a;  ///< [rows, depth]
  const double* b;  ///< [matrices, depth, columns]; [matrices, columns, depth] if `b_transposed`
  double* c;        ///< row m begins at (m / inner_rows) * c_outer + (m % inner_rows) * c_inner
  std::int32_t matrices, rows, columns, depth;
  std::int32_t inner_rows;
  std::int64_t a_row;                       ///< doubles between rows of A
  std::int64_t b_matrix, b_row;             ///< doubles between matrices of B, between rows of B
  std::int64_t c_matrix, c_outer, c_inner;  ///< strides of C, in doubles
  double sign;
  bool adds, b_transposed;
};

/// Puts the products on `stream`. If `columns` is odd, also overwrites the element behind the end of each row of C.
void launch_slab_product(const SlabProduct& product, cudaStream_t stream);

}
