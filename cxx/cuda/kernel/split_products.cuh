#pragma once

#include "cxx/cuda/kernel/accumulators.cuh"
#include "cxx/cuda/kernel/fragments.cuh"
#include "cxx/cuda/kernel/instructions.cuh"
#include "cxx/cuda/kernel/staging.cuh"

/// Products of operands that are scaled and split into two FP16 numbers, see SplitHalf.
namespace trifuse::gpu {

/// Multiplies the operands of a product in which particle x stands alone in A, one k-tile after the other:
///
///     fragment(m, r, c)[16, 8] += A[m][16, k] B[r, c][k, 8]        m over x, (r, c) over the other particles
///
/// Each k-step is three products: high low, low high, high high. The matrix units cut off the low bits of FP32 sums, so
/// a long sum becomes smaller than the true one. Therefore each sum covers only the contracted indices of one scale
/// group. It begins at 0, and add_to() adds it to the target with ordinary FP32 instructions, which round.
///
/// Several fragments of B are multiplied together, so that enough independent instructions follow each other. The
/// operands of the next fragments, and of the next k-step, are loaded before these are finished.
template <int x, typename Config>
class SplitProduct {
  using Precision = typename Config::Precision;
  using Operands = Fragments<Precision>;
  using Registers = typename Operands::Registers;
  static constexpr int u = first_other(x), w = second_other(x);
  static constexpr int rows = Config::warp_tile(x), pairs = Config::warp_tile(w) / particle_pair,
                       columns = Config::warp_tile(u) * pairs;
  static constexpr int group = rows >= 4 ? 2 : 4, groups = columns / group;
  static_assert(columns % group == 0 && groups % 2 == 0, "each k-step begins with the same half of `column_`");
  static_assert(Precision::k_tile_steps == 2, "`a_` holds the high slices of the first k-step in its first half");

 public:
  /// `a`, `b`: bytes from the begin of a stage to the lane's operands. `b_row`: bytes from one row of B to the next.
  __device__ __forceinline__ SplitProduct(unsigned a, unsigned b, unsigned b_row) : a_at_(a), b_at_(b), b_row_(b_row) {}

  /// Loads the first operands of a k-tile.
  __device__ __forceinline__ void begin(unsigned stage) {
    load_slice<0>(a_[0], stage, 0);
    load_group(stage, 0, 0);
  }

  /// Adds a k-tile whose first operands are loaded. `first`: true if the sums begin with this k-tile. `whole`: true if
  /// the k-tile has two k-steps. Then the function also waits for the next k-tile by `next()`, which returns its stage,
  /// and loads its first operands. Otherwise the k-tile has one k-step and is the last one of the product.
  template <bool first, bool whole, typename Next>
  __device__ __forceinline__ void add(Accumulators<Config>& sums, unsigned stage, Next next) {
    if constexpr (whole) {
      add_step<0, first, true>(sums, stage, [stage] { return stage; });
      add_step<1, false, true>(sums, stage, next);
    } else {
      add_step<0, first, false>(sums, stage, [stage] { return stage; });
    }
  }

  /// Loads the scales of the operands. `stage`: the stage of a k-tile of the sums.
  __device__ __forceinline__ void load_scales(unsigned stage, int lane) {
    const unsigned lane_at = lane * Operands::lane_bytes;
    const unsigned a = stage + a_at_ - lane_at + Operands::a_scale, b = stage + b_at_ - lane_at + Operands::b_scale;
#pragma unroll
    for (int m = 0; m < rows; ++m) a_scales_[m] = Operands::scale(a + m * Operands::a_bytes);
#pragma unroll
    for (int n = 0; n < columns; ++n) {
      b_scales_[n] = Operands::scale(b + n / pairs * b_row_ + n % pairs * Operands::b_bytes);
    }
  }

  /// Adds the sums to the target, with the scales of both operands. The elements of the target stay where products with
  /// lone particle `layout` need them. `sign_bit`: 0x80000000 if the sums are subtracted, else 0.
  template <int layout>
  __device__ __forceinline__ void add_to(Accumulators<Config>& target, Accumulators<Config>& sums,
                                         unsigned sign_bit) const {
#pragma unroll
    for (int n = 0; n < columns; ++n) {
#pragma unroll
      for (int m = 0; m < rows; ++m) {
        const float scale = with_changed_sign(a_scales_[m], sign_bit) * b_scales_[n];
        const float(&sum)[4] = sums.template fragment<x>(m, n / pairs, n % pairs);
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          float& to = target.template element<x, layout>(m, n / pairs, n % pairs, e);
          to = fmaf(sum[e], scale, to);
        }
      }
    }
  }

 private:
  /// Adds k-step `step` of a k-tile. `next()` returns the stage of the next k-step. `loads`: true if its first operands
  /// are to be loaded.
  template <int step, bool fresh, bool loads, typename Next>
  __device__ __forceinline__ void add_step(Accumulators<Config>& sums, unsigned stage, Next next) {
    Registers(&high)[rows] = a_[step];
    Registers(&low)[rows] = a_[1 - step];
    load_slice<1>(low, stage, step);
    unsigned following = stage;
#pragma unroll
    for (int n = 0; n < groups; ++n) {
      multiply_group<fresh>(sums, n, high, 2);
      if (n + 1 < groups) {
        load_group(stage, step, n + 1);
      } else if constexpr (loads) {
        following = next();
        load_group(following, 1 - step, 0);
      }
      multiply_group<false>(sums, n, low, 0);
      if (loads && n + 1 == groups) load_slice<0>(low, following, 1 - step);  // high slices of the next k-step
      multiply_group<false>(sums, n, high, 0);
    }
  }

  /// Multiplies with the fragments of B in group `n`. `slice`: first register of B's slice.
  template <bool fresh>
  __device__ __forceinline__ void multiply_group(Accumulators<Config>& sums, int n, const Registers (&a)[rows],
                                                 int slice) const {
#pragma unroll
    for (int f = 0; f < group; ++f) {
#pragma unroll
      for (int m = 0; m < rows; ++m) {
        const int column = n * group + f;
        const Registers& b = column_[n % 2][f];
        multiply_halves<fresh>(sums.template fragment<x>(m, column / pairs, column % pairs), a[m], b[slice],
                               b[slice + 1]);
      }
    }
  }
  template <int slice>
  __device__ __forceinline__ void load_slice(Registers (&to)[rows], unsigned stage, int step) const {
#pragma unroll
    for (int m = 0; m < rows; ++m) {
      Operands::load(to[m],
                     stage + a_at_ + (step * Operands::a_step + slice * Operands::a_low + m * Operands::a_bytes));
    }
  }
  __device__ __forceinline__ void load_group(unsigned stage, int step, int n) {
#pragma unroll
    for (int f = 0; f < group; ++f) {
      const int column = n * group + f;
      Operands::load(column_[n % 2][f], stage + b_at_ + column / pairs * b_row_ +
                                            (step * Operands::b_step + column % pairs * Operands::b_bytes));
    }
  }

  unsigned a_at_, b_at_, b_row_;
  /// Slices of A. The high slices of k-step `step` are in a_[step], its low slices in a_[1 - step]. The high slices of
  /// the next k-step replace the low slices when these are not needed any more.
  Registers a_[2][rows];
  Registers column_[2][group];  ///< fragments of B: the current group and the next one
  float a_scales_[rows], b_scales_[columns];
};

}
