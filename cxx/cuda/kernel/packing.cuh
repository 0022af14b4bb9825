#pragma once

#include <algorithm>

#include "cxx/cuda/kernel/check.hpp"
#include "cxx/cuda/schedule/layout.hpp"
#include "cxx/cuda/schedule/scale_groups.hpp"

/// Packs panels on the device, in any precision.
namespace trifuse::gpu {

/// The calling warp's number in the grid, and the warps of the grid, counted along x.
struct GridWarps {
  std::int64_t number, count;
  __device__ __forceinline__ GridWarps()
      : number((std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x) / 32),
        count(std::int64_t{gridDim.x} * blockDim.x / 32) {}
};

/// Packs scale groups of a left or right panel; each warp of the grid takes its share. `read`: see pack_scale_group().
template <typename Precision, typename Read>
__device__ __forceinline__ void pack_with_warps(const Packing& packing, typename Precision::Operand* packed,
                                                Read read) {
  const auto largest_of_warp = [](double x) {
    for (int distance = 16; distance > 0; distance /= 2) x = fmax(x, __shfl_xor_sync(~0u, x, distance));
    return x;
  };
  const GridWarps warps;
  const std::int64_t groups = scale_groups_of_part<Precision>(packing);
  for (std::int64_t n = warps.number; n < groups; n += warps.count) {
    pack_scale_group<Precision>(packing, n, static_cast<int>(threadIdx.x) % 32, 32, packed, read, largest_of_warp);
  }
}

/// Packs a part of a panel whose numbers are scaled. `raw`, `packed`: see launch_packing().
template <typename Precision>
__global__ void pack_scaled(Packing packing, const double* raw, typename Precision::Operand* packed) {
  pack_with_warps<Precision>(packing, packed,
                             [&](const PackedIndices& indices) { return raw[raw_offset(packing, indices)]; });
}

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
  constexpr int threads = 256;
  const auto grid_of = [](std::int64_t blocks) { return static_cast<unsigned>(std::min<std::int64_t>(blocks, 65536)); };
  const auto to = static_cast<typename Precision::Operand*>(packed);
  if constexpr (Precision::scale_elements > 0) {
    const std::int64_t groups = scale_groups_of_part<Precision>(packing);
    pack_scaled<Precision><<<grid_of(ceil_div(groups, threads / 32)), threads, 0, stream>>>(packing, raw, to);
  } else {
    const std::int64_t elements = packed_size_of_part<Precision>(packing);
    pack<Precision><<<grid_of(ceil_div(elements, threads)), threads, 0, stream>>>(packing, raw, to, elements);
  }
  TRIFUSE_CUDA(cudaGetLastError());
}

}  // namespace trifuse::gpu
