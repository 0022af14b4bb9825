#pragma once

#include "cxx/cuda/kernel/accumulators.cuh"
#include "cxx/cuda/kernel/epilogue.cuh"
#include "cxx/cuda/kernel/fragments.cuh"
#include "cxx/cuda/kernel/instructions.cuh"
#include "cxx/cuda/kernel/staging.cuh"
#include "cxx/cuda/schedule/kernel_parameters.hpp"
#include "cxx/triples/task.hpp"

/// The triples kernel: one persistent grid works through a list of cta_tiles. A CTA tile is a box of particles times a
/// block of 4 x 4 x 4 holes of one task; its six-index block D (or, one after the other, the six W of the spin-adapted
/// form) stays in registers from the first product to the energies. All products, all inner tiles and all CTA tiles are
/// one stream of chunks.
namespace trifuse::gpu {

/// Adds one chunk of a product with particle x alone:
///
///     fragment(m, r, c)[16, 8] += A[m][16, k] B[r, c][k, 8]        m over x, (r, c) over the other particles
template <int x, typename Config>
__device__ __forceinline__ void multiply_k_tile(Accumulators<Config>& sums, const char* a, const char* b, int b_row,
                                                int k_steps) {
  using Precision = typename Config::Precision;
  constexpr int u = x == 0 ? 1 : 0, w = x == 2 ? 1 : 2;
  constexpr int rows = Config::warp_tile(x), b_rows = Config::warp_tile(u),
                b_pairs = Config::warp_tile(w) / particle_pair;
  constexpr int size = sizeof(typename Precision::Operand);
  constexpr int a_k_tile = size * Precision::a_k_tile, b_k_tile = size * Precision::b_k_tile;
#pragma unroll
  for (int s = 0; s < Precision::k_tile_steps; ++s) {
    if (s >= k_steps) break;
    typename Fragments<Precision>::Row row[rows];
#pragma unroll
    for (int m = 0; m < rows; ++m) {
      Fragments<Precision>::load(row[m], a + m * a_k_tile, s);
    }
#pragma unroll
    for (int r = 0; r < b_rows; ++r) {
#pragma unroll
      for (int c = 0; c < b_pairs; ++c) {
        typename Fragments<Precision>::Column column;
        Fragments<Precision>::load(column, b + r * b_row + c * b_k_tile, s);
#pragma unroll
        for (int m = 0; m < rows; ++m) {
          Config::Instruction::multiply(sums.template fragment<x>(m, r, c), row[m], column);
        }
      }
    }
  }
}

/// One product: sums += A B over the whole inner index.
template <int number, Form form, typename Config>
__device__ __forceinline__ void multiply_product(Accumulators<Config>& sums, Stages<form, Config>& stages,
                                                 int first_product) {
  constexpr int x = product_order[number].particle;
  constexpr int k_tile_steps = Config::Precision::k_tile_steps;
  constexpr int lane_bytes = Fragments<typename Config::Precision>::lane_bytes;
  const WarpView& view = stages.tile_data().views[warp_number()];
  const int lane = lane_number();
  const KernelProduct& product = stages.tile_data().products[first_product + number];
  const int k_steps = product.k_steps;
  const int a = view.a[x] + lane * lane_bytes, b = view.b[x] + lane * lane_bytes, row = view.row[x];
  const bool active = view.active != 0;
  stages.template for_each_k_tile<number>(
      product, (k_steps + k_tile_steps - 1) / k_tile_steps, [&](const char* stage, int n) {
        if (active) multiply_k_tile<x>(sums, stage + a, stage + b, row, k_steps - n * k_tile_steps);
      });
}

/// One target, all nine products. With alternating signs (spin-orbital form) the sums end with `final_sign`.
template <Form form, typename Config>
__device__ __forceinline__ void build_target(Accumulators<Config>& sums, Stages<form, Config>& stages,
                                             const KernelParameters& parameters, int first_product) {
  const auto change_sign = [&] { sums.change_sign(parameters.product_sign); };
  sums.clear();
  multiply_product<0>(sums, stages, first_product);
  change_sign();
  multiply_product<1>(sums, stages, first_product);
  change_sign();
  sums.exchange_doubled_index();
  multiply_product<2>(sums, stages, first_product);
  change_sign();
  sums.exchange_q_y(lane_number());
  multiply_product<3>(sums, stages, first_product);
  change_sign();
  sums.exchange_doubled_index();
  multiply_product<4>(sums, stages, first_product);
  change_sign();
  multiply_product<5>(sums, stages, first_product);
  change_sign();
  sums.exchange_p_y(lane_number());
  multiply_product<6>(sums, stages, first_product);
  change_sign();
  multiply_product<7>(sums, stages, first_product);
  change_sign();
  sums.exchange_doubled_index();
  multiply_product<8>(sums, stages, first_product);
}

template <Form form, typename Config>
__device__ __forceinline__ void run_producer_warp(const KernelParameters& parameters, Stages<form, Config>& stages) {
  for (;; stages.release_cta_tile()) {
    const auto& data = stages.next_cta_tile(parameters);
    if (data.number == no_cta_tile) return;
#pragma unroll 1
    for (int side = 0; side < parameters.sides; ++side) {
#pragma unroll 1
      for (int t = 0; t < data.targets; ++t) {
#pragma unroll 1
        for (int n = 0; n < products_per_target; ++n) {
          asm volatile("" : "+r"(n));  // one copy of the code for all products
          stages.load_product(data, data.products[(side * parameters.targets + t) * products_per_target + n], n);
        }
      }
    }
  }
}

template <Form form, typename Config>
__device__ __forceinline__ void run_scheduler_warp(const KernelParameters& parameters, Stages<form, Config>& stages) {
  for (;;) {
    const auto& data = stages.fetch_cta_tile(parameters);
    if (data.number == no_cta_tile) return;
    if constexpr (form == Form::spin_orbital) {
#pragma unroll 1
      for (int set = 0; set < parameters.sets; ++set) stages.load_vvoo(data, set);
    }
  }
}

template <Form form, bool two_sided, typename Config>
__device__ __forceinline__ void run_math_warps(const KernelParameters& parameters, Stages<form, Config>& stages) {
  using Targets = Epilogue<form, two_sided, Config>;
  for (;; stages.release_cta_tile()) {
    if (stages.next_cta_tile(parameters).number == no_cta_tile) return;
#pragma unroll 1
    for (int side = 0; side < Targets::sides; ++side) {
      // One in spin-orbital form, which the compiler should know.
      const int targets = Targets::targets_per_side == 1 ? 1 : stages.tile_data().targets;
#pragma unroll 1
      for (int t = 0; t < targets; ++t) {
        Accumulators<Config> sums;
        build_target(sums, stages, parameters, (side * Targets::targets_per_side + t) * products_per_target);

        Targets::spill(parameters, sums, side * Targets::targets_per_side + t);
      }
    }
    __syncwarp();  // lanes read each other's numbers
    // What only the energies need is worked out there, so that it takes no registers while products are summed.
    write_sums<two_sided>(parameters, stages);
  }
}

/// Registers of a thread that multiplies, and of the other warps, which hand theirs over: together as many as the block
/// was launched with; asking for more would wait for ever.
template <typename Config>
struct Registers {
  static constexpr int math = 224, other = 56;
  static_assert(Config::warps * 32 * math + 128 * other <= Config::threads * (65536 / Config::threads / 8 * 8));
};

template <Form form, bool two_sided, typename Config>
__global__ void __launch_bounds__(Config::threads, 1)
    triples_kernel(const __grid_constant__ KernelParameters parameters) {
  // Compiled for every architecture of the program, of use where the instruction is.
#if __CUDA_ARCH__ >= 750
  if constexpr (Config::Instruction::architecture <= __CUDA_ARCH__) {
    extern __shared__ __align__(128) char storage[];
    using Staged = Stages<form, Config>;
    __shared__ typename Staged::Shared shared;
    Staged::initialise(storage, shared);
    Staged stages(storage, shared);
    if constexpr (Config::staging == Staging::bulk) {
      using RegisterSplit = Registers<Config>;
      if (warp_number() >= Config::warps) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
        asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(RegisterSplit::other));
#endif
        if (warp_number() == Config::warps) {
          run_producer_warp(parameters, stages);
        } else if (warp_number() == Config::warps + 1) {
          run_scheduler_warp(parameters, stages);
        }
      } else {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
        asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(RegisterSplit::math));
#endif
        run_math_warps<form, two_sided>(parameters, stages);
      }
    } else {
      run_math_warps<form, two_sided>(parameters, stages);
    }
  }
#endif
}

}  // namespace trifuse::gpu
