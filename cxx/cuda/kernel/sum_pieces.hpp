#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

/// Integers of sums that stay on a GPU: what the host reads of them, and the sums of several GPUs. All memory is on the
/// current device.
namespace trifuse::gpu {

/// values[to] += sign sums[from] for all elements of a box. Index d has extent[d] values; the distances of neighbours
/// are from[d] and to[d].
struct SumPiece {
  const unsigned long long* sums;  ///< first element
  double* values;                  ///< first value; no two elements have the same one
  std::int64_t extent[4], from[4], to[4];
  double sign;
};

/// Adds a piece on `stream`.
void launch_add_piece(SumPiece piece, cudaStream_t stream);

/// to[n] += from[n] for `count` integers, on `stream`.
void launch_add_integers(const unsigned long long* from, std::int64_t count, unsigned long long* to,
                         cudaStream_t stream);

}
