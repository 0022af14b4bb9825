#pragma once

#include "cxx/cuda/kernel/epilogue.cuh"

namespace trifuse::gpu {

/// An epilogue that stores the spin-orbital target of a launch with one task, instead of energies. It writes
/// KernelParameters::warp_sums [a, b, c, i, j, k], over the orbitals of the task's tiles. Elements that the energies do
/// not need are left as they are.
template <typename ConfigT>
class StoredTargets {
 public:
  using Config = ConfigT;
  static constexpr SpinFormulation formulation = SpinFormulation::spin_orbital;
  static constexpr int sides = 1, targets_per_side = 1;
  static constexpr bool reads_vvoo = false, keeps_target = false;

  static __device__ __forceinline__ void finish_target(const KernelParameters& parameters,
                                                       const Stages<formulation, Config>& stages,
                                                       Accumulators<Config>& sums, int) {
    const auto& data = stages.tile_data();
    if (data.views[warp_number()].active == 0) return;
    const LaneElements<formulation, Config> elements(data, warp_number(), lane_number());
    const std::int32_t* const extent = data.task.extent;
#pragma unroll
    for (int a = 0; a < Config::warp_tile_a; ++a)
#pragma unroll
      for (int b = 0; b < Config::warp_tile_b; ++b)
#pragma unroll
        for (int c = 0; c < Config::warp_tile_c; ++c)
#pragma unroll
          for (int half = 0; half < 2; ++half) {
            if (elements.particle_weight(a, b, c) == 0.0 || elements.hole_weight(half) == 0.0) continue;
            std::int64_t at = elements.first[0] + a;
            at = at * extent[1] + elements.first[1] + b;
            at = at * extent[2] + elements.first[2] + c;
            for (int q = 0; q < 3; ++q) at = at * extent[3 + q] + elements.hole(q, half);
            const int n = elements.index(a, b, c, half);
            parameters.warp_sums[at] = final_sign<typename Config::Schedule> * sums.at[n / 4][n % 4];
          }
  }

  static __device__ __forceinline__ void finish_cta_tile(const KernelParameters&, const Stages<formulation, Config>&) {}
};

}
