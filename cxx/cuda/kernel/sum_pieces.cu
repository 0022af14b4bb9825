#include "cxx/cuda/kernel/sum_pieces.hpp"

#include <utility>

#include "cxx/cuda/kernel/check.hpp"
#include "cxx/cuda/kernel/element_loop.cuh"

namespace trifuse::gpu {

namespace {

__host__ __device__ std::int64_t elements(const SumPiece& piece) {
  return piece.extent[0] * piece.extent[1] * piece.extent[2] * piece.extent[3];
}

__global__ void add_piece(const __grid_constant__ SumPiece piece) {
  for_elements(elements(piece), [&](std::int64_t n) {
    std::int64_t from = 0, to = 0;
#pragma unroll
    for (int d = 3; d >= 0; --d) {
      const std::int64_t index = n % piece.extent[d];
      n /= piece.extent[d];
      from += index * piece.step_in_sums[d];
      to += index * piece.step_in_values[d];
    }
    piece.values[to] += piece.sign * static_cast<double>(static_cast<long long>(piece.sums[from]));
  });
}

__global__ void add_integers(const unsigned long long* from, std::int64_t count, unsigned long long* to) {
  for_elements(count, [&](std::int64_t n) { to[n] += from[n]; });
}

}

void launch_add_piece(SumPiece piece, cudaStream_t stream) {
  if (elements(piece) == 0) return;
  // Neighbouring threads read neighbouring sums. The values of a piece are few and stay in the cache.
  for (int d = 0; d < 3; ++d) {
    if (piece.extent[d] == 1 || (piece.extent[3] > 1 && piece.step_in_sums[d] >= piece.step_in_sums[3])) continue;
    std::swap(piece.extent[d], piece.extent[3]);
    std::swap(piece.step_in_sums[d], piece.step_in_sums[3]);
    std::swap(piece.step_in_values[d], piece.step_in_values[3]);
  }
  add_piece<<<element_blocks(elements(piece)), element_threads, 0, stream>>>(piece);
  TRIFUSE_CUDA(cudaGetLastError());
}

void launch_add_integers(const unsigned long long* from, std::int64_t count, unsigned long long* to,
                         cudaStream_t stream) {
  if (count == 0) return;
  add_integers<<<element_blocks(count), element_threads, 0, stream>>>(from, count, to);
  TRIFUSE_CUDA(cudaGetLastError());
}

}
