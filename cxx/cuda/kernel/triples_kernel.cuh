#pragma once

#include "cxx/cuda/kernel/accumulators.cuh"
#include "cxx/cuda/kernel/energy_step.cuh"
#include "cxx/cuda/kernel/fragments.cuh"
#include "cxx/cuda/kernel/instructions.cuh"
#include "cxx/cuda/kernel/staging.cuh"
#include "cxx/cuda/schedule/work.hpp"
#include "cxx/triples/task.hpp"

/// The triples kernel: one persistent grid works through a list of items. An item is a box of particles times a block
/// of 4 x 4 x 4 holes of one task; its six-index block D (or, one after the other, the six W of the spin-adapted form)
/// stays in registers from the first product to the energies. All products, all inner tiles and all items are one
/// stream of chunks.
namespace trifuse::gpu {

/// Adds one chunk of a product with particle x alone:
///
///     fragment(m, r, c)[16, 8] += A[m][16, k] B[r, c][k, 8]        m over x, (r, c) over the other particles
template <int x, typename Config>
__device__ __forceinline__ void multiply_chunk(Accumulators<Config>& sums, const char* a, const char* b, int b_row,
                                               int steps) {
  using Precision = typename Config::Precision;
  constexpr int u = x == 0 ? 1 : 0, w = x == 2 ? 1 : 2;
  constexpr int rows = Config::sub(x), b_rows = Config::sub(u), b_pairs = Config::sub(w) / pair;
  constexpr int size = sizeof(typename Precision::Operand);
  constexpr int a_chunk = size * Precision::a_chunk, b_chunk = size * Precision::b_chunk;
#pragma unroll
  for (int s = 0; s < Precision::chunk_steps; ++s) {
    if (s >= steps) break;
    typename Fragments<Precision>::Row row[rows];
#pragma unroll
    for (int m = 0; m < rows; ++m) {
      Fragments<Precision>::load(row[m], a + m * a_chunk, s);
    }
#pragma unroll
    for (int r = 0; r < b_rows; ++r) {
#pragma unroll
      for (int c = 0; c < b_pairs; ++c) {
        typename Fragments<Precision>::Column column;
        Fragments<Precision>::load(column, b + r * b_row + c * b_chunk, s);
#pragma unroll
        for (int m = 0; m < rows; ++m) {
          Config::Instruction::multiply(sums.template fragment<x>(m, r, c), row[m], column);
        }
      }
    }
  }
}

/// One product: sums += A B over the whole inner index.
template <int number, SpinFormulation formulation, typename Config>
__device__ __forceinline__ void multiply_phase(Accumulators<Config>& sums, Stages<formulation, Config>& stages,
                                               int first_phase) {
  constexpr int x = phase_order[number].particle;
  constexpr int chunk_steps = Config::Precision::chunk_steps;
  constexpr int lane_bytes = Fragments<typename Config::Precision>::lane_bytes;
  const WarpView& view = stages.item().views[warp_number()];
  const int lane = lane_number();
  const Phase& phase = stages.item().phases[first_phase + number];
  const int steps = phase.steps;
  const int a = view.a[x] + lane * lane_bytes, b = view.b[x] + lane * lane_bytes, row = view.row[x];
  const bool active = view.active != 0;
  stages.template for_each_chunk<number>(phase, (steps + chunk_steps - 1) / chunk_steps, [&](const char* stage, int n) {
    if (active) multiply_chunk<x>(sums, stage + a, stage + b, row, steps - n * chunk_steps);
  });
}

/// One target, all nine products. With alternating signs (spin-orbital form) the sums end with `final_sign`.
template <SpinFormulation formulation, typename Config>
__device__ __forceinline__ void build_target(Accumulators<Config>& sums, Stages<formulation, Config>& stages,
                                             const Work& work, int first_phase) {
  const auto change_sign = [&] { sums.change_sign(work.phase_sign); };
  sums.clear();
  multiply_phase<0>(sums, stages, first_phase);
  change_sign();
  multiply_phase<1>(sums, stages, first_phase);
  change_sign();
  sums.cross();
  multiply_phase<2>(sums, stages, first_phase);
  change_sign();
  sums.exchange_q_y(lane_number());
  multiply_phase<3>(sums, stages, first_phase);
  change_sign();
  sums.cross();
  multiply_phase<4>(sums, stages, first_phase);
  change_sign();
  multiply_phase<5>(sums, stages, first_phase);
  change_sign();
  sums.exchange_p_y(lane_number());
  multiply_phase<6>(sums, stages, first_phase);
  change_sign();
  multiply_phase<7>(sums, stages, first_phase);
  change_sign();
  sums.cross();
  multiply_phase<8>(sums, stages, first_phase);
}

template <SpinFormulation formulation, typename Config>
__device__ __forceinline__ void produce_items(const Work& work, Stages<formulation, Config>& stages) {
  for (;; stages.release_item()) {
    const auto& data = stages.next_item(work);
    if (data.number == no_item) return;
#pragma unroll 1
    for (int side = 0; side < work.sides; ++side) {
#pragma unroll 1
      for (int t = 0; t < data.targets; ++t) {
#pragma unroll 1
        for (int n = 0; n < phases_of_target; ++n) {
          asm volatile("" : "+r"(n));  // one copy of the code for all phases
          stages.produce(data, data.phases[(side * work.targets + t) * phases_of_target + n], n);
        }
      }
    }
  }
}

template <SpinFormulation formulation, typename Config>
__device__ __forceinline__ void keep_items(const Work& work, Stages<formulation, Config>& stages) {
  for (;;) {
    const auto& data = stages.fetch_item(work);
    if (data.number == no_item) return;
    if constexpr (formulation == SpinFormulation::spin_orbital) {
#pragma unroll 1
      for (int set = 0; set < work.sets; ++set) stages.bring_pairs(data, set);
    }
  }
}

template <SpinFormulation formulation, bool two_sided, typename Config>
__device__ __forceinline__ void multiply_items(const Work& work, Stages<formulation, Config>& stages) {
  using Energy = EnergyStep<formulation, two_sided, Config>;
  for (;; stages.release_item()) {
    if (stages.next_item(work).number == no_item) return;
#pragma unroll 1
    for (int side = 0; side < Energy::sides; ++side) {
      // One in spin-orbital form, which the compiler should know.
      const int targets = Energy::one_side == 1 ? 1 : stages.item().targets;
#pragma unroll 1
      for (int t = 0; t < targets; ++t) {
        Accumulators<Config> sums;
        build_target(sums, stages, work, (side * Energy::one_side + t) * phases_of_target);

        Energy::keep(work, sums, side * Energy::one_side + t);
      }
    }
    __syncwarp();  // lanes read each other's numbers
    // What only the energies need is worked out there, so that it takes no registers while products are summed.
    write_sums<two_sided>(work, stages);
  }
}

/// Registers of a thread that multiplies, and of the other warps, which hand theirs over: together as many as the block
/// was launched with; asking for more would wait for ever.
template <typename Config>
struct Registers {
  static constexpr int multiply = 224, others = 56;
  static_assert(Config::warps * 32 * multiply + 128 * others <= Config::threads * (65536 / Config::threads / 8 * 8));
};

template <SpinFormulation formulation, bool two_sided, typename Config>
__global__ void __launch_bounds__(Config::threads, 1) triples_kernel(const __grid_constant__ Work work) {
  // Compiled for every architecture of the program, of use where the instruction is.
#if __CUDA_ARCH__ >= 750
  if constexpr (Config::Instruction::architecture <= __CUDA_ARCH__) {
    extern __shared__ __align__(128) char storage[];
    using Staged = Stages<formulation, Config>;
    __shared__ typename Staged::Shared shared;
    Staged::initialise(storage, shared);
    Staged stages(storage, shared);
    if constexpr (Config::staging == Staging::bulk) {
      using Held = Registers<Config>;
      if (warp_number() >= Config::warps) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
        asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Held::others));
#endif
        if (warp_number() == Config::warps) {
          produce_items(work, stages);
        } else if (warp_number() == Config::warps + 1) {
          keep_items(work, stages);
        }
      } else {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
        asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Held::multiply));
#endif
        multiply_items<formulation, two_sided>(work, stages);
      }
    } else {
      multiply_items<formulation, two_sided>(work, stages);
    }
  }
#endif
}

}  // namespace trifuse::gpu
