#include "cxx/cuda/kernel/vvoo_sums.hpp"

#include <algorithm>

#include "cxx/cuda/kernel/check.hpp"

namespace trifuse::gpu {

namespace {

constexpr int threads = 256;
constexpr std::int64_t most_blocks = 1056;  ///< so many fill a device

__global__ void add_vvoo_sums(const __grid_constant__ Packing packing, const unsigned long long* packed,
                              unsigned long long* linear) {
  const std::int64_t elements = packed_size<Fp64>(packing), stride = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t n = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; n < elements; n += stride) {
    const PackedIndices element = packed_indices<Fp64>(packing, n);
    if (element.inside) linear[raw_offset(packing, element)] += packed[element.packed];
  }
}

}

void launch_add_vvoo_sums(const Packing& packing, const unsigned long long* packed, unsigned long long* linear,
                          cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>(std::min(ceil_div(packed_size<Fp64>(packing), threads), most_blocks));
  if (blocks == 0) return;
  add_vvoo_sums<<<blocks, threads, 0, stream>>>(packing, packed, linear);
  TRIFUSE_CUDA(cudaGetLastError());
}

}
