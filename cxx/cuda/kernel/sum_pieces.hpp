#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

/// Integers of sums that stay on a GPU: what the host reads of them, and the sums of several GPUs. All memory is on the
/// current device.
namespace trifuse::gpu {

/// As CompleteSums::Piece. No two elements have the same value.
struct SumPiece {
  const unsigned long long* sums;  ///< first element
  double* values;                  ///< first value
  std::int64_t extent[4], step_in_sums[4], step_in_values[4];
  double sign;
};

/// Adds a piece on `stream`.
void launch_add_piece(SumPiece piece, cudaStream_t stream);

/// to[n] += from[n] for `count` integers, on `stream`.
void launch_add_integers(const unsigned long long* from, std::int64_t count, unsigned long long* to,
                         cudaStream_t stream);

}
