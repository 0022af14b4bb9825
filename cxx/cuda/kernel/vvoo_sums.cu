#include "cxx/cuda/kernel/vvoo_sums.hpp"

#include "cxx/cuda/kernel/check.hpp"
#include "cxx/cuda/kernel/element_loop.cuh"

namespace trifuse::gpu {

namespace {

__global__ void add_vvoo_sums(const __grid_constant__ Packing packing, const unsigned long long* packed,
                              unsigned long long* linear) {
  for_elements(packed_size<Fp64>(packing), [&](std::int64_t n) {
    const PackedIndices element = packed_indices<Fp64>(packing, n);
    if (element.inside) linear[raw_offset(packing, element)] += packed[element.packed];
  });
}

}

void launch_add_vvoo_sums(const Packing& packing, const unsigned long long* packed, unsigned long long* linear,
                          cudaStream_t stream) {
  const unsigned blocks = element_blocks(packed_size<Fp64>(packing));
  if (blocks == 0) return;
  add_vvoo_sums<<<blocks, element_threads, 0, stream>>>(packing, packed, linear);
  TRIFUSE_CUDA(cudaGetLastError());
}

}
