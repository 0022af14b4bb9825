#pragma once

#include "cxx/cuda/kernel/accumulators.cuh"
#include "cxx/cuda/kernel/staging.cuh"
#include "cxx/cuda/kernel/warpgroup_instructions.cuh"

/// Products of operands that are scaled and split into two FP16 numbers, for four warps that multiply together. See
/// element_arrangement.hpp for the operands of the instructions, and SplitHalfUnits for the units.
namespace trifuse::gpu {

/// Starts the product of slice `slice_a` of A and slice `slice_b` of B in one k-step. Other parameters are those of
/// multiply_k_step().
template <int x, int units, bool fresh, int slice_a, int slice_b, typename Config>
__device__ __forceinline__ void multiply_slices(Accumulators<Config>& sums, unsigned single, unsigned two) {
  using Precision = typename Config::Precision;
  constexpr int lines = Precision::line_core_bytes;
  constexpr unsigned slice = Precision::slice_bytes / descriptor_unit, unit = Precision::data_bytes / descriptor_unit;
  if constexpr (x == 0) {
    // Each of the two units of B (b, c) gives the 64 lines of an instruction.
    multiply_by_64<lines, fresh, 0>(sums.at, two + slice_b * slice, single + slice_a * slice);
    if constexpr (units == 2) {
      multiply_by_64<lines, fresh, 8>(sums.at, two + unit + slice_b * slice, single + slice_a * slice);
    }
  } else {
    const unsigned m = single + (x == 1 ? slice_b : slice_a) * slice, n = two + (x == 1 ? slice_a : slice_b) * slice;
    if constexpr (units == 2) {
      multiply_by_128<lines, fresh, 0>(sums.at, m, n);
    } else {
      multiply_by_64<lines, fresh, 0>(sums.at, m, n);
    }
  }
}

/// Starts one k-step of a product with particle x alone in A: three products of slices, A high times B low, A low times
/// B high, high times high. `single`, `two`: descriptors of the k-step in the unit without b, and in the first unit
/// with b. `fresh`: true if the sums are overwritten. `units`, also in the functions below: 2 for all values of b, 1
/// for the first half of them alone.
template <int x, int units, bool fresh, typename Config>
__device__ __forceinline__ void multiply_k_step(Accumulators<Config>& sums, unsigned single, unsigned two) {
  multiply_slices<x, units, fresh, 0, 1>(sums, single, two);
  multiply_slices<x, units, false, 1, 0>(sums, single, two);
  multiply_slices<x, units, false, 0, 0>(sums, single, two);
}

/// One product of a target, for warps that multiply together. It has at least one k-step.
struct GroupProduct {
  int single, two;    ///< bytes in a stage to the unit without b, and to the first unit with b
  int k_steps;        ///< number of k-steps that are not added to the target yet
  unsigned sign_bit;  ///< 0x80000000 if the product is subtracted, else 0
  unsigned stage;     ///< address of the last k-tile whose multiplications were started
};

/// Returns the product in which particle x stands alone in A and hole `hole` in B. `first_product`: as in
/// multiply_product().
template <int x, SpinFormulation formulation, typename Config>
__device__ __forceinline__ GroupProduct group_product(const Stages<formulation, Config>& stages, int hole,
                                                      int first_product, unsigned sign_bit) {
  const auto& data = stages.tile_data();
  const WarpView& view = data.views[warp_number()];
  return {same_in_warp(view.a[x]), same_in_warp(view.b[x]),
          same_in_warp(data.products[first_product + product_index(x, hole)].k_steps), sign_bit, 0};
}

/// Returns the number of k-steps in a scale group.
template <typename Config>
constexpr int scale_group_steps() {
  return Config::Precision::scaled_k_tiles * Config::Precision::k_tile_steps;
}

/// Starts the multiplications of the next scale group of a product. Their results are in `sums` after
/// wait_for_multiplications().
template <int x, int units, SpinFormulation formulation, typename Config>
__device__ __forceinline__ void start_scale_group(Accumulators<Config>& sums, Stages<formulation, Config>& stages,
                                                  GroupProduct& product) {
  using Precision = typename Config::Precision;
  constexpr int k_tile_steps = Precision::k_tile_steps;
  constexpr unsigned k_step = Precision::slices * Precision::slice_bytes / descriptor_unit;
  static_assert(k_tile_steps == 2 && scale_group_steps<Config>() == 2 * k_tile_steps);
  const auto descriptor = [](unsigned of_stage, int unit) {
    return operand_descriptor(of_stage + unit, Precision::k_core_bytes);
  };
  unsigned stage = stages.wait_for_k_tile(0);
  unsigned of_single = descriptor(stage, product.single), of_two = descriptor(stage, product.two);
  begin_multiplications();
  multiply_k_step<x, units, true>(sums, of_single, of_two);
  commit_multiplications();
  if (product.k_steps > 1) {
    begin_multiplications();
    multiply_k_step<x, units, false>(sums, of_single + k_step, of_two + k_step);
    commit_multiplications();
  }
  if (product.k_steps > k_tile_steps) {
    stage = stages.wait_for_k_tile(1);
    of_single = descriptor(stage, product.single), of_two = descriptor(stage, product.two);
    begin_multiplications();
    multiply_k_step<x, units, false>(sums, of_single, of_two);
    commit_multiplications();
    if (product.k_steps > k_tile_steps + 1) {
      begin_multiplications();
      multiply_k_step<x, units, false>(sums, of_single + k_step, of_two + k_step);
      commit_multiplications();
    }
  }
  product.stage = stage;
}

/// Adds a product to the target. start_scale_group() has started its first scale group. The matrix units cut off the
/// low bits of FP32 sums. So each sum covers one scale group only, and ordinary FP32 instructions, which round, add it
/// to the target.
template <int x, int units, SpinFormulation formulation, typename Config>
__device__ __forceinline__ void add_group_product(Accumulators<Config>& target, Accumulators<Config>& sums,
                                                  Stages<formulation, Config>& stages, GroupProduct product) {
  using Precision = typename Config::Precision;
  stages.count_k_tiles_uniformly();
#pragma unroll 1
  for (;;) {
    const int unit = product.two / Precision::data_bytes;
    const auto of_units = stages.scales_of_units(product.stage, product.single / Precision::data_bytes, unit, unit + 1);
    const float scale = with_changed_sign(of_units.of_first, product.sign_bit);
    const float scales[2] = {from_lane(of_units.lane, scale * of_units.of_second),
                             from_lane(of_units.lane, scale * of_units.of_third)};
    wait_for_multiplications<0>();
    stages.release_k_tile();
    if (product.k_steps > Precision::k_tile_steps) stages.release_k_tile();
#pragma unroll
    for (int n = 0; n < Accumulators<Config>::fragments / 2 * units; ++n) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        asm volatile("" : "+f"(sums.at[n][e])::"memory");  // so that it is not read before the wait
        target.at[n][e] = fmaf(sums.at[n][e], scales[n / 8], target.at[n][e]);
      }
    }
    product.k_steps -= scale_group_steps<Config>();
    if (product.k_steps <= 0) return;
    start_scale_group<x, units>(sums, stages, product);
  }
}

/// Moves the elements of a target from the arrangement of the round before product `number` of the schedule to the
/// arrangement of the round that begins with this product.
template <int units, int n = 3, typename Config>
__device__ __forceinline__ void change_round_before(Accumulators<Config>& target, int number) {
  using Schedule = typename Config::Schedule;
  if constexpr (n < product_count<Schedule>) {
    constexpr int last = product_axes<Schedule>(n - 1).hole, hole = product_axes<Schedule>(n).hole;
    if (number == n) target.template change_arrangement<units, 2, last, 0, hole>(lane_number());
    change_round_before<units, n + 3>(target, number);
  }
}

/// Does what build_target() does, for warps that multiply together. All rounds of the schedule share their code,
/// because the code of nine products would not fit in the instruction cache. The target changes its arrangement while
/// the matrix units work on the next product.
template <int units, SpinFormulation formulation, typename Config>
__device__ __forceinline__ void build_group_target(Accumulators<Config>& target, Stages<formulation, Config>& stages,
                                                   const KernelParameters& parameters, int first_product) {
  using Schedule = typename Config::Schedule;
  static_assert(has_rounds<Schedule>());
  static_assert(Config::warp_tile_a == 4 && Config::warp_tile_b == 8 && Config::warp_tile_c == 1);
  target.clear();
#pragma unroll 1
  for (int n = 0; n < product_count<Schedule>; n += 3) {
    n = same_in_warp(n);  // so that all rounds share one copy of the code
    const int hole = PackedAxes<Schedule>::at(n).hole;
    const auto sign_bit = [&](int x) { return parameters.product_sign & (other_signs<Schedule>() >> (n + x)) << 31; };
    Accumulators<Config> sums;
    GroupProduct of_a = group_product<0>(stages, hole, first_product, sign_bit(0));
    start_scale_group<0, units>(sums, stages, of_a);
    change_round_before<units>(target, n);
    GroupProduct of_b = group_product<1>(stages, hole, first_product, sign_bit(1));
    add_group_product<0, units>(target, sums, stages, of_a);
    start_scale_group<1, units>(sums, stages, of_b);
    // For a change from one particle to the next, it does not matter which hole stands alone.
    target.template change_arrangement<units, 0, 0, 1, 0>(lane_number());
    GroupProduct of_c = group_product<2>(stages, hole, first_product, sign_bit(2));
    add_group_product<1, units>(target, sums, stages, of_b);
    start_scale_group<2, units>(sums, stages, of_c);
    target.template change_arrangement<units, 1, 0, 2, 0>(lane_number());
    add_group_product<2, units>(target, sums, stages, of_c);
  }
}

}
