#pragma once

#include "cxx/cuda/kernel/accumulators.cuh"
#include "cxx/cuda/kernel/epilogue.cuh"
#include "cxx/cuda/kernel/fragments.cuh"
#include "cxx/cuda/kernel/instructions.cuh"
#include "cxx/cuda/kernel/split_products.cuh"
#include "cxx/cuda/kernel/staging.cuh"
#include "cxx/cuda/kernel/warpgroup_products.cuh"
#include "cxx/cuda/schedule/kernel_parameters.hpp"
#include "cxx/triples/task.hpp"

/// The triples kernel. One persistent grid works through the CTA tiles of a launch. For each CTA tile it computes one
/// target D[a, b, c, i, j, k] in spin-orbital form, or up to six targets W[a, b, c, i, j, k], one after the other, in
/// spin-adapted form. A target stays in registers from its first product to its last one, in the order of the schedule
/// of the Configuration. Then the epilogue gets it. The epilogues of the program spill it to scratch, read all targets
/// of the CTA tile back when the last one is finished, and compute the energies.
///
/// Warps of a CTA:
///
///     warp      bulk staging (384 threads)                                   cooperative staging (256 threads)
///     0 to 7    math: multiply, spill, epilogue; one warp tile each          math, and copies of operands
///     8         producer: loads the operands of all products                 -
///     9         scheduler: takes CTA tiles; loads the vvoo blocks of         -
///               the epilogue if it reads them (Epilogue::reads_vvoo)
///     10, 11    load the vvoo blocks in place of the scheduler if warps      -
///               multiply together (vvoo_warps). Else they are idle: they
///               complete the group of four warps that gives up registers
///               together
///
/// The math warps of a bulk CTA see one stream of k-tiles, which does not stop between products, targets and CTA tiles.
///
/// The loop nest, with the shape of each level. In a product, particle x stands alone in A, and hole y stands alone in
/// B. u, w are the other particles, h, h' the other holes, K is the contracted index, and depth is
/// Precision::k_tile_depth.
///
///     for all CTAs of the grid, in parallel                       min(CTA tiles of the launch, multiprocessors) CTAs
///       for each CTA tile that the CTA takes                      1 to 8 warp tiles, a + b + c <= 24; 4 x 4 x 4 holes
///         for side, for target                                    1 to 3; 1, in spin-adapted form 1, 3 or 6
///           for (x, y) of Config::Schedule                        9 products A [x, h, h', K] B [u, w, y, K]
///             for each k-tile, in the next stage of the ring      A [x][16 = h h', depth], B [u, w/2][depth, 8 = y w]
///               for all math warps, in parallel                   8, with a warp tile each
///                 for each k-step of the k-tile                   at most 2, of depth / 2 contracted indices
///                   for r in u, c in w/2, m in x of the warp tile
///                     fragment(m, r, c) += A[m] B[r, c]           [16, 8] += [16, depth / 2] [depth / 2, 8]
///             change signs, names and lanes of the accumulators   64 in each lane, with Fma 16
///           Epilogue::finish_target()                             scratch [CTA, side, target, accumulator, thread]
///         Epilogue::finish_cta_tile(): for set, for omega2        warp_sums [CTA tile, omega2, warp, sum]
///     launch_task_sums(): other kernels add up the warp sums      [task, omega2, sum]
///
///     Config (launch_shapes.hpp)   warp tile a, b, c    stages   depth   instructions of a fragment and a k-step
///     Bulk                         4x4x2 or 4x2x4       4        16      1 m16n8k8
///     CooperativeM16N8K8           4x4x2                2        16      1 m16n8k8
///     CooperativeM8N8K4            4x4x2                3        16      4 m8n8k4
///     CooperativeFma               2x2x2                1        16      32 multiply-adds of each lane
///     MixedCooperative             4x4x2                2        32      3 m16n8k16: high low, low high, high high
///     MixedWarpgroup               4x8x1                4        32      none, see below
///
/// In mixed precision a sum begins at 0 and covers at most two k-tiles. Then it is added to the target, with the scales
/// of A and B. In MixedWarpgroup the warps multiply in two groups of four (4x8x4). Their operands are units: A
/// [x/4][64, depth], B [u/4, w/4][depth, 64]. A k-step is three products of slices. Each of them is one m64n128k16, or
/// two m64n64k16 if x is a; one m64n64k16 if only the first 4 values of b are inside the orbital tile. With
/// Epilogue::keeps_target there is one target, which goes to finish_cta_tile() in registers.
namespace trifuse::gpu {

/// Adds one k-tile of a product in which particle x stands alone in A:
///
///     fragment(m, r, c)[16, 8] += A[m][16, k] B[r, c][k, 8]        m over x, (r, c) over the other particles
///
/// `a`, `b`: addresses of the lane's operands in shared memory. `b_row`: bytes from one row of B to the next.
/// `k_steps`: number of k-steps that are left in the product; the k-tile may have more.
template <int x, typename Config>
__device__ __forceinline__ void multiply_k_tile(Accumulators<Config>& sums, const char* a, const char* b, int b_row,
                                                int k_steps) {
  using Precision = typename Config::Precision;
  constexpr int u = first_other(x), w = second_other(x);
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
          multiply(typename Config::Instruction{}, sums.template fragment<x>(m, r, c), row[m], column);
        }
      }
    }
  }
}

/// Adds one product over the whole contracted index: particle `x` stands alone in A, hole `y` in B. `first_product`:
/// index of the target's first product in CtaTileData::products.
template <int x, int y, SpinFormulation formulation, typename Config>
__device__ __forceinline__ void multiply_product(Accumulators<Config>& sums, Stages<formulation, Config>& stages,
                                                 int first_product) {
  constexpr int k_tile_steps = Config::Precision::k_tile_steps;
  const WarpView& view = stages.tile_data().views[warp_number()];
  const int lane = Fragments<typename Config::Precision>::lane_offset(lane_number());
  const KernelProduct& product = stages.tile_data().products[first_product + product_index(x, y)];
  const int k_steps = product.k_steps;
  const int a = view.a[x] + lane, b = view.b[x] + lane, row = view.row[x];
  const bool active = view.active != 0;
  const int k_tiles = (k_steps + k_tile_steps - 1) / k_tile_steps;
  stages.for_each_k_tile(product, {x, y}, k_tiles, [&](const char* stage, int n) {
    if (active) multiply_k_tile<x>(sums, stage + a, stage + b, row, k_steps - n * k_tile_steps);
  });
}

/// Computes one target: all products of the schedule from number `n` on. Between two products the signs, the names and
/// the lanes of the accumulators change as the axes of the products demand, see product_schedule.hpp. In spin-orbital
/// form the result has the sign `final_sign`. `first_product`: see multiply_product().
template <int n = 0, SpinFormulation formulation, typename Config>
__device__ __forceinline__ void build_target(Accumulators<Config>& sums, Stages<formulation, Config>& stages,
                                             const KernelParameters& parameters, int first_product) {
  using Schedule = typename Config::Schedule;
  constexpr ProductAxes axes = product_axes<Schedule>(n);
  if constexpr (n == 0) sums.clear();
  multiply_product<axes.particle, axes.hole>(sums, stages, first_product);
  if constexpr (n + 1 < product_count<Schedule>) {
    constexpr ProductAxes next = product_axes<Schedule>(n + 1);
    if constexpr (sign_changes_after<Schedule>(n)) sums.change_sign(parameters.product_sign);
    sums.template change_lone_particle<axes.particle, next.particle>();
    sums.template change_lone_hole<axes.hole, next.hole>(lane_number());
    build_target<n + 1>(sums, stages, parameters, first_product);
  }
}

/// Does what multiply_product() does, for split operands. During all products the elements of `target` stay where the
/// last product of the schedule needs them. `sign_bit`: 0x80000000 if the product is subtracted, else 0.
template <int x, SpinFormulation formulation, typename Config>
__device__ __forceinline__ void multiply_split_product(Accumulators<Config>& target,
                                                       Stages<formulation, Config>& stages, const ProductAxes& axes,
                                                       int first_product, unsigned sign_bit) {
  using Schedule = typename Config::Schedule;
  constexpr int layout = product_axes<Schedule>(product_count<Schedule> - 1).particle;
  const WarpView& view = stages.tile_data().views[warp_number()];
  const int lane = Fragments<typename Config::Precision>::lane_offset(lane_number());
  const KernelProduct& product = stages.tile_data().products[first_product + product_index(x, axes.hole)];
  SplitProduct<x, Config> operands(static_cast<unsigned>(view.a[x] + lane), static_cast<unsigned>(view.b[x] + lane),
                                   static_cast<unsigned>(view.row[x]));
  Accumulators<Config> part;
  stages.for_each_k_tile_group(
      product, axes, product.k_steps, [&](unsigned stage) { operands.begin(stage); },
      [&](auto first, auto whole, unsigned stage, auto next) {
        if (first.value) operands.load_scales(stage, lane_number());  // early, so that add_to() need not wait for them
        operands.template add<first.value, whole.value>(part, stage, next);
      },
      [&](unsigned) { operands.template add_to<layout>(target, part, sign_bit); });
}

/// Exchanges elements between lanes after product `number` of the schedule, if the next product has another lone hole.
template <int n = 0, typename Config>
__device__ __forceinline__ void exchange_after(Accumulators<Config>& target, int number) {
  using Schedule = typename Config::Schedule;
  if constexpr (n + 1 < product_count<Schedule>) {
    constexpr int hole = product_axes<Schedule>(n).hole, next = product_axes<Schedule>(n + 1).hole;
    if constexpr (hole != next) {
      if (number == n) target.template change_lone_hole<hole, next>(lane_number());
    }
    exchange_after<n + 1>(target, number);
  }
}

/// Does what build_target() does, for split operands. The products of a round share their lone hole. All rounds share
/// their code, because the code of nine products would not fit in the instruction cache.
template <SpinFormulation formulation, typename Config>
__device__ __forceinline__ void build_split_target(Accumulators<Config>& target, Stages<formulation, Config>& stages,
                                                   const KernelParameters& parameters, int first_product) {
  using Schedule = typename Config::Schedule;
  static_assert(has_rounds<Schedule>());
  target.clear();
#pragma unroll 1
  for (int n = 0; n < product_count<Schedule>; n += 3) {
    asm volatile("" : "+r"(n));  // so that all rounds share one copy of the code
    const int hole = PackedAxes<Schedule>::at(n).hole;
    const auto sign_bit = [&](int x) { return parameters.product_sign & (other_signs<Schedule>() >> (n + x)) << 31; };
    multiply_split_product<0>(target, stages, {0, hole}, first_product, sign_bit(0));
    multiply_split_product<1>(target, stages, {1, hole}, first_product, sign_bit(1));
    multiply_split_product<2>(target, stages, {2, hole}, first_product, sign_bit(2));
    exchange_after(target, n + 2);
  }
}

/// Lets the operands of all products of a target pass unused, for a warp without elements to compute.
template <SpinFormulation formulation, typename Config>
__device__ __forceinline__ void skip_target(Stages<formulation, Config>& stages, int first_product) {
  using Schedule = typename Config::Schedule;
  constexpr int k_tile_steps = Config::Precision::k_tile_steps;
#pragma unroll 1
  for (int n = 0; n < product_count<Schedule>; ++n) {
    const ProductAxes axes = PackedAxes<Schedule>::at(n);
    const KernelProduct& product = stages.tile_data().products[first_product + product_index(axes.particle, axes.hole)];
    stages.for_each_k_tile(product, axes, (product.k_steps + k_tile_steps - 1) / k_tile_steps, [](const char*, int) {});
  }
}

/// Runs the loop of the producer warp.
template <SpinFormulation formulation, typename Config>
__device__ __forceinline__ void run_producer_warp(const KernelParameters& parameters,
                                                  Stages<formulation, Config>& stages) {
  using Schedule = typename Config::Schedule;
  for (;; stages.release_cta_tile()) {
    const auto& data = stages.next_cta_tile(parameters);
    if (data.number == no_cta_tile) return;
#pragma unroll 1
    for (int side = 0; side < parameters.sides; ++side) {
#pragma unroll 1
      for (int t = 0; t < data.targets; ++t) {
#pragma unroll 1
        for (int n = 0; n < product_count<Schedule>; ++n) {
          asm volatile("" : "+r"(n));  // so that all products share one copy of the code
          const ProductAxes axes = PackedAxes<Schedule>::at(n);
          const int product = product_index(axes.particle, axes.hole);
          stages.load_product(data, data.products[(side * parameters.targets + t) * products_per_target + product],
                              axes);
        }
      }
    }
  }
}

/// Loads the vvoo blocks of all sets of a CTA tile, if the epilogue reads them.
template <typename Epilogue, SpinFormulation formulation, typename Config>
__device__ __forceinline__ void load_vvoo_sets(const KernelParameters& parameters, Stages<formulation, Config>& stages,
                                               const CtaTileData<formulation, Config>& data) {
  if constexpr (Epilogue::reads_vvoo) {
#pragma unroll 1
    for (int set = 0; set < parameters.sets; ++set) stages.load_vvoo(data, set);
  }
}

/// Runs the loop of the scheduler warp.
template <typename Epilogue, SpinFormulation formulation, typename Config>
__device__ __forceinline__ void run_scheduler_warp(const KernelParameters& parameters,
                                                   Stages<formulation, Config>& stages) {
  for (;;) {
    const auto& data = stages.fetch_cta_tile(parameters);
    if (data.number == no_cta_tile) return;
    if constexpr (vvoo_warps<Config> == 0) load_vvoo_sets<Epilogue>(parameters, stages, data);
  }
}

/// Runs the loop of the warps that load vvoo blocks.
template <typename Epilogue, SpinFormulation formulation, typename Config>
__device__ __forceinline__ void run_vvoo_warps(const KernelParameters& parameters,
                                               Stages<formulation, Config>& stages) {
  for (;; stages.release_cta_tile()) {
    const auto& data = stages.next_cta_tile(parameters);
    if (data.number == no_cta_tile) return;
    load_vvoo_sets<Epilogue>(parameters, stages, data);
  }
}

/// Computes one target of the current CTA tile. `first_product`: see multiply_product().
template <SpinFormulation formulation, typename Config>
__device__ __forceinline__ void compute_target(Accumulators<Config>& sums, Stages<formulation, Config>& stages,
                                               const KernelParameters& parameters, int first_product) {
  if constexpr (Config::Precision::scale_elements > 0) {
    // Inside the products this test would make the compiler spill registers.
    const int units = same_in_warp(stages.tile_data().views[warp_number()].multiplies);
    if (units == 0) {
      sums.clear();
      skip_target(stages, first_product);
    } else if constexpr (Config::group_warps > 1) {
      if (units == 1) {
        build_group_target<1>(sums, stages, parameters, first_product);
      } else {
        build_group_target<2>(sums, stages, parameters, first_product);
      }
    } else {
      build_split_target(sums, stages, parameters, first_product);
    }
  } else {
    build_target(sums, stages, parameters, first_product);
  }
}

/// Runs the loop of the math warps.
template <typename Epilogue, SpinFormulation formulation, typename Config>
__device__ __forceinline__ void run_math_warps(const KernelParameters& parameters,
                                               Stages<formulation, Config>& stages) {
  for (;; stages.release_cta_tile()) {
    const std::uint32_t number = stages.next_cta_tile(parameters).number;
    if ((Config::group_warps > 1 ? same_in_warp(static_cast<int>(number)) : number) == no_cta_tile) return;
    if constexpr (Epilogue::keeps_target) {
      Accumulators<Config> target;
      compute_target(target, stages, parameters, 0);
      Epilogue::finish_cta_tile(parameters, stages, target);
    } else {
#pragma unroll 1
      for (int side = 0; side < Epilogue::sides; ++side) {
        // In spin-orbital form the number of targets is known at compile time.
        int targets = Epilogue::targets_per_side == 1 ? 1 : stages.tile_data().targets;
        if constexpr (Config::group_warps > 1) targets = same_in_warp(targets);
#pragma unroll 1
        for (int t = 0; t < targets; ++t) {
          Accumulators<Config> sums;
          const int first_product = (side * Epilogue::targets_per_side + t) * products_per_target;
          compute_target(sums, stages, parameters, first_product);
          Epilogue::finish_target(parameters, stages, sums, side * Epilogue::targets_per_side + t);
        }
      }
      __syncwarp();  // lanes read what other lanes of the warp spilled
      // The epilogue recomputes everything that it needs, so that it takes no registers while products are computed.
      Epilogue::finish_cta_tile(parameters, stages);
    }
  }
}

/// Registers of each thread with bulk staging. Warps 8 to 11 give up registers, and the math warps take them. All
/// together must not have more registers than at launch: a warp that asks for more waits for ever.
template <typename Config>
struct Registers {
  static constexpr int math = 224, other = 56;
  static_assert(Config::warps * 32 * math + 128 * other <= Config::threads * (65536 / Config::threads / 8 * 8));
};

/// The kernel. `Epilogue`: see epilogue.cuh; it knows the Configuration and the spin formulation.
template <typename Epilogue, typename Config = typename Epilogue::Config>
__global__ void __launch_bounds__(Config::threads, 1)
    triples_kernel(const __grid_constant__ KernelParameters parameters) {
  // This function is compiled for every architecture of the program. The body is empty if the architecture lacks the
  // instruction.
#if __CUDA_ARCH__ >= 750
  if constexpr (Config::architecture <= __CUDA_ARCH__) {
    extern __shared__ __align__(128) char storage[];
    using Staged = Stages<Epilogue::formulation, Config>;
    __shared__ typename Staged::Shared shared;
    Staged::initialise(storage, shared);
    Staged stages(storage, shared);
    if constexpr (Config::staging == Staging::bulk) {
      if ((Config::group_warps > 1 ? same_in_warp(warp_number()) : warp_number()) >= Config::warps) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
        asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Registers<Config>::other));
#endif
        if (warp_number() == Config::warps) {
          run_producer_warp(parameters, stages);
        } else if (warp_number() == Config::warps + 1) {
          run_scheduler_warp<Epilogue>(parameters, stages);
        } else if (warp_number() < Config::warps + 2 + vvoo_warps<Config>) {
          if constexpr (vvoo_warps<Config> != 0) run_vvoo_warps<Epilogue>(parameters, stages);
        }
      } else {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
        asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Registers<Config>::math));
#endif
        run_math_warps<Epilogue>(parameters, stages);
      }
    } else {
      run_math_warps<Epilogue>(parameters, stages);
    }
  }
#endif
}

}
