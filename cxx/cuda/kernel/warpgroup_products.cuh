#pragma once

#include "cxx/cuda/kernel/accumulators.cuh"
#include "cxx/cuda/kernel/staging.cuh"
#include "cxx/cuda/kernel/warpgroup_instructions.cuh"

/// Products of operands that are scaled and split into two FP16 numbers, for four warps that multiply together. See
/// element_arrangement.hpp for the operands of the instructions, and SplitHalfBlocks for the units.
namespace trifuse::gpu {

/// Starts the product of slice `slice_a` of A and slice `slice_b` of B in one k-step. Arguments as in
/// multiply_k_step().
template <int x, bool fresh, int slice_a, int slice_b, typename Config>
__device__ __forceinline__ void multiply_slices(Accumulators<Config>& sums, unsigned single, unsigned two) {
  using Precision = typename Config::Precision;
  constexpr int lines = Precision::line_core_bytes;
  constexpr unsigned slice = Precision::slice_bytes / descriptor_unit, unit = Precision::data_bytes / descriptor_unit;
  if constexpr (x == 0) {
    // The two units of B (b, c) give the 64 lines of an instruction each.
    multiply_by_64<lines, fresh, 0>(sums.at, two + slice_b * slice, single + slice_a * slice);
    multiply_by_64<lines, fresh, 8>(sums.at, two + unit + slice_b * slice, single + slice_a * slice);
  } else {
    multiply_by_128<lines, fresh, 0>(sums.at, single + (x == 1 ? slice_b : slice_a) * slice,
                                     two + (x == 1 ? slice_a : slice_b) * slice);
  }
}

/// Starts one k-step of a product with particle x alone in A: three products of slices, A high times B low, A low times
/// B high, high times high. `single`, `two`: descriptors of the k-step in the unit without b, and in the first unit
/// with b. `fresh`: the sums count as 0 before.
template <int x, bool fresh, typename Config>
__device__ __forceinline__ void multiply_k_step(Accumulators<Config>& sums, unsigned single, unsigned two) {
  multiply_slices<x, fresh, 0, 1>(sums, single, two);
  multiply_slices<x, false, 1, 0>(sums, single, two);
  multiply_slices<x, false, 0, 0>(sums, single, two);
}

/// Adds one product over the whole contracted index to the target: particle x stands alone in A, hole `axes.hole` in B.
/// The matrix units cut off the low bits of FP32 sums, so each sum runs over one scale group only; ordinary FP32
/// instructions, which round, add it to the target. `sign_bit`: 0x80000000 if the product is subtracted, else 0. Other
/// arguments as in multiply_product().
template <int x, SpinFormulation formulation, typename Config>
__device__ __forceinline__ void multiply_group_product(Accumulators<Config>& target,
                                                       Stages<formulation, Config>& stages, const ProductAxes& axes,
                                                       int first_product, unsigned sign_bit) {
  using Precision = typename Config::Precision;
  constexpr int k_tile_steps = Precision::k_tile_steps, group_steps = Precision::scaled_k_tiles * k_tile_steps;
  constexpr unsigned k_step = Precision::slices * Precision::slice_bytes / descriptor_unit;
  const WarpView& view = stages.tile_data().views[warp_number()];
  const int single = same_in_warp(view.a[x]), two = same_in_warp(view.b[x]);
  int left = same_in_warp(stages.tile_data().products[first_product + product_index(x, axes.hole)].k_steps);
  stages.count_k_tiles_uniformly();
#pragma unroll 1
  while (left > 0) {
    Accumulators<Config> sums;
    const int steps = min(left, group_steps);
    unsigned stage = stages.wait_for_k_tile(0);
    unsigned of_single = operand_descriptor(stage + single, Precision::k_core_bytes);
    unsigned of_two = operand_descriptor(stage + two, Precision::k_core_bytes);
    begin_multiplications();
    multiply_k_step<x, true>(sums, of_single, of_two);
    commit_multiplications();
#pragma unroll 1
    for (int s = 1; s < steps; ++s) {
      of_single += k_step;
      of_two += k_step;
      if (s == k_tile_steps) {
        stage = stages.wait_for_k_tile(1);
        of_single = operand_descriptor(stage + single, Precision::k_core_bytes);
        of_two = operand_descriptor(stage + two, Precision::k_core_bytes);
      }
      begin_multiplications();
      multiply_k_step<x, false>(sums, of_single, of_two);
      commit_multiplications();
    }
    static_assert(group_steps == 2 * k_tile_steps);
    const float scale = with_changed_sign(stages.scale_of_unit(stage, single / Precision::data_bytes), sign_bit);
    const float scales[2] = {scale * stages.scale_of_unit(stage, two / Precision::data_bytes),
                             scale * stages.scale_of_unit(stage, two / Precision::data_bytes + 1)};
    wait_for_multiplications<0>();
    stages.release_k_tile();
    if (steps > k_tile_steps) stages.release_k_tile();
#pragma unroll
    for (int n = 0; n < Accumulators<Config>::fragments; ++n) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        asm volatile("" : "+f"(sums.at[n][e])::"memory");  // it must not be read before the wait
        target.at[n][e] = fmaf(sums.at[n][e], scales[n / 8], target.at[n][e]);
      }
    }
    left -= steps;
  }
}

/// Moves the elements of a target to the arrangement of the next round, after product `number` of the schedule.
template <int n = 0, typename Config>
__device__ __forceinline__ void change_round_after(Accumulators<Config>& target, int number) {
  using Schedule = typename Config::Schedule;
  if constexpr (n + 3 < product_count<Schedule>) {
    constexpr int last = n + 2;
    constexpr int hole = product_axes<Schedule>(last).hole, next = product_axes<Schedule>(last + 1).hole;
    if (number == last) target.template change_arrangement<2, hole, 0, next>(lane_number());
    change_round_after<n + 3>(target, number);
  }
}

/// As build_target(), for warps that multiply together. All rounds of the schedule share their code, because the code
/// of nine products would not fit in the instruction cache.
template <SpinFormulation formulation, typename Config>
__device__ __forceinline__ void build_group_target(Accumulators<Config>& target, Stages<formulation, Config>& stages,
                                                   const KernelParameters& parameters, int first_product) {
  using Schedule = typename Config::Schedule;
  static_assert(has_rounds<Schedule>());
  static_assert(Config::warp_tile_a == 4 && Config::warp_tile_b == 8 && Config::warp_tile_c == 1);
  target.clear();
#pragma unroll 1
  for (int n = 0; n < product_count<Schedule>; n += 3) {
    asm volatile("" : "+r"(n));  // one copy of the code for all rounds
    const int hole = PackedAxes<Schedule>::at(n).hole;
    const auto sign_bit = [&](int x) { return parameters.product_sign & (other_signs<Schedule>() >> (n + x)) << 31; };
    // Which hole is alone does not matter for a change from one particle to the next.
    multiply_group_product<0>(target, stages, {0, hole}, first_product, sign_bit(0));
    target.template change_arrangement<0, 0, 1, 0>(lane_number());
    multiply_group_product<1>(target, stages, {1, hole}, first_product, sign_bit(1));
    target.template change_arrangement<1, 0, 2, 0>(lane_number());
    multiply_group_product<2>(target, stages, {2, hole}, first_product, sign_bit(2));
    change_round_after(target, n + 2);
  }
}

}  // namespace trifuse::gpu
