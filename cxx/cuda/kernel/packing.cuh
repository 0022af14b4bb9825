#pragma once

#include <algorithm>

#include "cxx/cuda/kernel/check.hpp"
#include "cxx/cuda/schedule/layout.hpp"

/// Packs panels on the device, in any precision.
namespace trifuse::gpu {

/// Packs the `elements` elements of packed_size_of_part(packing). `raw`, `packed`: see launch_packing().
template <typename Precision>
__global__ void pack(Packing packing, const double* raw, typename Precision::Operand* packed, std::int64_t elements) {
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t n = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; n < elements; n += stride) {
    const PackedElement element = packed_element<Precision>(packing, n);
    packed[element.packed] = packed_value<Precision>(element, raw);
  }
}

/// Does what launch_packing() does, in a precision that is known at compile time.
template <typename Precision>
void launch_packing_in(const Packing& packing, const double* raw, void* packed, cudaStream_t stream) {
  const std::int64_t elements = packed_size_of_part<Precision>(packing);
  constexpr int threads = 256;
  const auto grid = static_cast<unsigned>(std::min<std::int64_t>(ceil_div(elements, threads), 65536));
  pack<Precision>
      <<<grid, threads, 0, stream>>>(packing, raw, static_cast<typename Precision::Operand*>(packed), elements);
  TRIFUSE_CUDA(cudaGetLastError());
}

}  // namespace trifuse::gpu
