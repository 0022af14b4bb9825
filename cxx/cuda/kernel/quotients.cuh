#pragma once

#include "cxx/cuda/kernel/epilogue.cuh"
#include "cxx/triples/quotient.hpp"

/// What the epilogues for any quotients have in common.
namespace trifuse::gpu {

/// Number of quotients that a lane adds up at once. If there are more, it goes through its elements again.
inline constexpr int quotients_at_once = 8;

/// Number of elements whose operands a lane loads together, so that the loads overlap.
inline constexpr int elements_at_once = 2;

/// Some elements of a lane, which have the same `half`.
struct ElementGroup {
  int a[elements_at_once], b[elements_at_once], c[elements_at_once];
  double weight[elements_at_once];  ///< 0: the element adds nothing
  int half;
};

/// Number of the values of RightFactor.
inline constexpr int right_factors = 3;

/// Which of at most `quotients_at_once` quotients have a left side and a right factor. So a lane need not read all
/// quotients for each of its elements.
class QuotientMasks {
 public:
  __device__ __forceinline__ QuotientMasks(const Quotient* quotients, int count) {
#pragma unroll 1
    for (int q = 0; q < count; ++q) {
      const Quotient x = quotients[q];
      const int kind =
          x.of_tables() ? 1 + static_cast<int>(x.denominator) - static_cast<int>(Denominator::one_body) : 0;
      const std::uint32_t bit = 1u << (quotients_at_once * kind + q);
#pragma unroll
      for (int n = 0; n < max_left_sides; ++n)
#pragma unroll
        for (int f = 0; f < right_factors; ++f)
          masks_[n][f] |= x.left == left_side(n) && static_cast<int>(x.right) == f ? bit : 0;
    }
  }
  /// Returns all masks of a left side and a right factor in one number; 0 if there are no such quotients.
  __device__ __forceinline__ std::uint32_t of(int side, int factor) const {
    const auto pick = [&](int n) { return factor == 0 ? masks_[n][0] : factor == 1 ? masks_[n][1] : masks_[n][2]; };
    return side == 0 ? pick(0) : pick(1);
  }
  /// Returns a number with the bits of the quotients whose denominators are no sums of tables.
  static __device__ __forceinline__ std::uint32_t without_tables(std::uint32_t masks) {
    return masks & all;
  }
  /// Returns a number with the bits of the quotients with tables of a method; 0, 1, 2: one_body, two_body, three_body.
  static __device__ __forceinline__ std::uint32_t of_tables(std::uint32_t masks, int method) {
    return masks >> quotients_at_once * (method + 1) & all;
  }
  /// Returns true if there are quotients with tables of this method or of a later one.
  static __device__ __forceinline__ bool any_from(std::uint32_t masks, int method) {
    return masks >> quotients_at_once * (method + 1) != 0;
  }

 private:
  static constexpr std::uint32_t all = (1u << quotients_at_once) - 1;
  static_assert(4 * quotients_at_once <= 32);
  std::uint32_t masks_[max_left_sides][right_factors] = {};
};

/// Calls `use(n)` for each bit n of a mask that is 1.
template <typename Use>
__device__ __forceinline__ void for_each_bit(std::uint32_t mask, Use use) {
#pragma unroll 1
  for (; mask != 0; mask &= mask - 1) use(__ffs(static_cast<int>(mask)) - 1);
}

/// Computes the sums of all quotients of a CTA tile. `epilogue`: made of WarpEpilogue; its function
///
///     add_elements(group, quotients, masks, energies)
///
/// adds the energies of a group to `energies` [quotient, sum].
template <int sums_count, typename Epilogue>
__device__ __forceinline__ void write_sums_of_quotients(const Epilogue& epilogue, const KernelParameters& parameters) {
  using Config = typename Epilogue::Config;
  double* out = epilogue.template sums_of_warp<sums_count>();
#pragma unroll 1
  for (int first = 0; first < parameters.omega2_count; first += quotients_at_once) {
    const int count = min(quotients_at_once, parameters.omega2_count - first);
    double energies[quotients_at_once][sums_count] = {};
    if (epilogue.is_active()) {
      const QuotientMasks masks(parameters.quotients + first, count);
#pragma unroll 1
      for (int n = 0; n < Config::accumulators / elements_at_once; ++n) {
        ElementGroup group;
        group.half = n & 1;
        bool any = false;
#pragma unroll
        for (int e = 0; e < elements_at_once; ++e) {
          const int m = n / 2 * elements_at_once + e;  // c is the fastest particle, then b
          group.c[e] = m % Config::warp_tile_c;
          group.b[e] = m / Config::warp_tile_c % Config::warp_tile_b;
          group.a[e] = m / Config::warp_tile_c / Config::warp_tile_b;
          group.weight[e] = epilogue.weight_of(group.a[e], group.b[e], group.c[e], group.half);
          any = any || group.weight[e] != 0.0;
        }
        if (__any_sync(~0u, any)) epilogue.add_elements(group, parameters.quotients + first, masks, energies);
      }
    }
#pragma unroll 1
    for (int q = 0; q < count; ++q, out += Config::warps * sums_count) {
      epilogue.template write_sums_of_omega2<sums_count>(out, 0, energies[q]);
    }
  }
}

}
