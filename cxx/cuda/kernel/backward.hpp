#pragma once

#include <cuda_runtime_api.h>

#include "cxx/cuda/schedule/seed_layout.hpp"

namespace trifuse::gpu {

/// Puts the products of seeds with panels on `stream` of the current device. `width`: of the tiles, in k-tiles, between
/// narrowest_backward_tile and widest_backward_tile. `grid`: number of CTAs. The tiles of `parameters` are in device
/// memory.
void launch_backward(int width, int grid, const BackwardParameters& parameters, cudaStream_t stream);

/// Sets the limits of the shared memory of all backward kernels on the current device. Call it once before the first
/// launch.
void set_backward_limits();

}
