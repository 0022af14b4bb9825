#pragma once

#include <algorithm>
#include <cstdint>

/// A loop over numbered elements in a kernel, and a grid for it.
namespace trifuse::gpu {

/// Number of threads of a block in such a grid.
constexpr int element_threads = 256;

/// Calls `body(n)` once for each n from 0 to count - 1, in the threads of a one-dimensional grid of any size.
/// Neighbouring threads have neighbouring n.
template <typename Body>
__device__ __forceinline__ void for_elements(std::int64_t count, Body body) {
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t n = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; n < count; n += stride) body(n);
}

/// Number of blocks of element_threads threads for `count` elements: at most eight for each multiprocessor of an H100,
/// which fill it.
inline unsigned element_blocks(std::int64_t count) {
  constexpr std::int64_t most = 1056;
  return static_cast<unsigned>(std::min((count + element_threads - 1) / element_threads, most));
}

}
