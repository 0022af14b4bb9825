#pragma once

#include <cuda_runtime_api.h>

#include <span>

#include "cxx/cuda/schedule/seed_layout.hpp"
#include "cxx/triples/precision.hpp"

namespace trifuse::gpu {

/// A backward kernel for tiles of one width.
struct BackwardKernel {
  const void* function;
  int threads, shared_bytes;
};
/// The functions return the kernels of a precision, from the narrowest to the widest tile. See BackwardTiles.
std::span<const BackwardKernel> double_backward_kernels();
std::span<const BackwardKernel> mixed_backward_kernels();

/// Puts the products of seeds with panels on `stream` of the current device. `width`: of the tiles, in k-tiles, see
/// BackwardTiles. `grid`: number of CTAs. The tiles of `parameters` are in device memory.
void launch_backward(Precision precision, int width, int grid, const BackwardParameters& parameters,
                     cudaStream_t stream);

/// Sets the limits of the shared memory of all backward kernels of a precision on the current device. Call it once
/// before the first launch.
void set_backward_limits(Precision precision);

}
