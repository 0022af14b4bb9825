#pragma once

#include <array>

#include "cxx/cuda/schedule/configuration.hpp"
#include "cxx/cuda/schedule/split_half_units.hpp"

/// The configurations of all compiled kernels. Kernels, host code, predictions and tests take their shapes from here.
namespace trifuse::gpu {

/// A list of configurations, the best one first. A device may be able to run several of them.
template <typename... Configs>
struct ConfigurationList {
  static constexpr std::array<Shape, sizeof...(Configs)> shapes = {shape_of<Configs>()...};
};

/// Kernels for Hopper GPUs. Warps can pass registers to each other there (setmaxnreg), so their machine code runs on
/// compute capability 9.0 only.
template <int warp_tile_a, int warp_tile_b, int warp_tile_c>
using Bulk = Configuration<Fp64, MmaM16N8K8, Staging::bulk, warp_tile_a, warp_tile_b, warp_tile_c, 4>;
using BulkKernels = ConfigurationList<Bulk<4, 4, 2>, Bulk<4, 2, 4>>;
/// The kernel for GPUs after Hopper.
using CooperativeM16N8K8 = Configuration<Fp64, MmaM16N8K8, Staging::cooperative, 4, 4, 2, 2>;
/// The kernel for Ampere GPUs.
using CooperativeM8N8K4 = Configuration<Fp64, MmaM8N8K4, Staging::cooperative, 4, 4, 2, 3>;
/// The kernel for GPUs without FP64 matrix units.
using CooperativeFma = Configuration<Fp64, Fma, Staging::cooperative, 2, 2, 2, 1>;
using CooperativeKernels = ConfigurationList<CooperativeM16N8K8, CooperativeM8N8K4, CooperativeFma>;

/// Kernels in mixed precision, for Hopper GPUs and for all GPUs since Ampere.
using MixedWarpgroup = Configuration<SplitHalfUnits, Wgmma, Staging::bulk, 4, 8, 1, 4, RoundSchedule>;
using MixedCooperative = Configuration<SplitHalf, MmaM16N8K16, Staging::cooperative, 4, 4, 2, 2, RoundSchedule>;
using MixedKernels = ConfigurationList<MixedWarpgroup, MixedCooperative>;

}
