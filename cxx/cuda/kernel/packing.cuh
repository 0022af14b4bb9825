#pragma once

#include <algorithm>

#include "cxx/cuda/kernel/check.hpp"
#include "cxx/cuda/kernel/element_loop.cuh"
#include "cxx/cuda/schedule/layout.hpp"
#include "cxx/cuda/schedule/scale_groups.hpp"

/// Packs panels on the device, in any precision.
namespace trifuse::gpu {

/// The number of the calling warp in the grid, and the number of warps of the grid. Both count along x.
struct GridWarps {
  std::int64_t number, count;
  __device__ __forceinline__ GridWarps()
      : number((std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x) / 32),
        count(std::int64_t{gridDim.x} * blockDim.x / 32) {}
};

/// Packs the scale groups of a left or right panel. Each warp of the grid packs its share. `read`: see
/// pack_scale_group().
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

/// Reads a panel from strided rows, see Packing.
struct RawRows {
  const double* raw;  ///< first element, in device memory
  __device__ __forceinline__ double operator()(const Packing& packing, const PackedIndices& indices) const {
    return raw[raw_offset(packing, indices)];
  }
};

/// Packs a part of a panel whose numbers are scaled. `read(packing, indices)` returns the number at indices inside the
/// panel. `packed`: see launch_packing().
template <typename Precision, typename Read>
__global__ void pack_scaled(Packing packing, Read read, typename Precision::Operand* packed) {
  pack_with_warps<Precision>(packing, packed, [&](const PackedIndices& indices) { return read(packing, indices); });
}

/// Packs a part of a panel whose numbers are not scaled. `elements`: packed_size_of_part(packing). Other parameters are
/// those of pack_scaled().
template <typename Precision, typename Read>
__global__ void pack(Packing packing, Read read, typename Precision::Operand* packed, std::int64_t elements) {
  for_elements(elements, [&](std::int64_t n) {
    const PackedIndices at = packed_indices<Precision>(packing, n);
    packed[at.packed] = at.inside ? Precision::slice_of(read(packing, at), at.slice) : typename Precision::Operand{};
  });
}

/// Packs a part of a panel in a precision that is known at compile time. `read`: see pack_scaled(). Other parameters
/// are those of launch_packing().
template <typename Precision, typename Read>
void launch_packing_in(const Packing& packing, Read read, void* packed, cudaStream_t stream) {
  constexpr int threads = 256;
  const auto to = static_cast<typename Precision::Operand*>(packed);
  std::int64_t blocks = 0;
  if constexpr (Precision::scale_elements > 0) {
    blocks = ceil_div(scale_groups_of_part<Precision>(packing), threads / 32);
  } else {
    blocks = ceil_div(packed_size_of_part<Precision>(packing), threads);
  }
  const auto grid = static_cast<unsigned>(std::min<std::int64_t>(blocks, 65536));
  if (grid == 0) return;
  if constexpr (Precision::scale_elements > 0) {
    pack_scaled<Precision><<<grid, threads, 0, stream>>>(packing, read, to);
  } else {
    pack<Precision><<<grid, threads, 0, stream>>>(packing, read, to, packed_size_of_part<Precision>(packing));
  }
  TRIFUSE_CUDA(cudaGetLastError());
}

}
