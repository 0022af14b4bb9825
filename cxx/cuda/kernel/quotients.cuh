#pragma once

#include "cxx/cuda/kernel/epilogue.cuh"
#include "cxx/cuda/kernel/table_denominators.cuh"
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

/// Computes the sums of all quotients of a CTA tile. `epilogue`: made of WarpEpilogue; its function
///
///     add_elements(group, quotients, count, energies)
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
        if (__any_sync(~0u, any)) epilogue.add_elements(group, parameters.quotients + first, count, energies);
      }
    }
#pragma unroll 1
    for (int q = 0; q < count; ++q, out += Config::warps * sums_count) {
      epilogue.template write_sums_of_omega2<sums_count>(out, 0, energies[q]);
    }
  }
}

/// The quotients of a left side, among `quotients` [count]. `sides`: number of sides; if it is 2, they have all the
/// same left side.
template <int sides>
struct QuotientsOfSide {
  const Quotient* quotients;
  int count;
  Side side;
  __device__ __forceinline__ bool has(const Quotient& quotient) const { return sides == 2 || quotient.left == side; }
};

/// Returns the right factor of a quotient. `left`: D of its left side.
template <typename Factor>
__device__ __forceinline__ const Factor& right_factor(const Quotient& quotient, const Factor& connected,
                                                      const Factor& disconnected, const Factor& left) {
  return quotient.right == RightFactor::connected      ? connected
         : quotient.right == RightFactor::disconnected ? disconnected
                                                       : left;
}

/// Calls `use(quotient, number)` for each quotient whose denominators are no sums of tables. Returns true if there are
/// others.
template <int sides, typename Use>
__device__ __forceinline__ bool for_quotients_without_tables(const QuotientsOfSide<sides>& of, Use use) {
  bool any_tables = false;
#pragma unroll 1
  for (int q = 0; q < of.count; ++q) {
    const Quotient quotient = of.quotients[q];
    if (!of.has(quotient)) continue;
    if (quotient.of_tables()) {
      any_tables = true;
    } else {
      use(quotient, q);
    }
  }
  return any_tables;
}

/// Calls `use(quotient, number)` for each quotient whose denominators are sums of tables, in the order of the methods.
/// `denominators`: SpinOrbitalDenominator or SpinAdaptedDenominators; it has the terms of the method in each call.
template <int sides, typename Denominators, typename Use>
__device__ __forceinline__ void for_quotients_of_tables(Denominators& denominators, const QuotientsOfSide<sides>& of,
                                                        Use use) {
  // Negative for a quotient of another side or without tables.
  const auto method_of = [&](int q) {
    const Quotient quotient = of.quotients[q];
    const bool wanted = of.has(quotient) && quotient.of_tables();
    return wanted ? static_cast<int>(quotient.denominator) - static_cast<int>(Denominator::one_body) : -1;
  };
  int last = -1;
#pragma unroll 1
  for (int q = 0; q < of.count; ++q) {
    last = max(last, method_of(q));
  }
  // One copy of the code of `use` for all methods.
#pragma unroll 1
  for (int m = 0; m <= last; ++m) {
    if (m == 1) denominators.add_two_body();
    if (m == 2) denominators.add_three_body();
#pragma unroll 1
    for (int q = 0; q < of.count; ++q) {
      if (method_of(q) == m) use(of.quotients[q], q);
    }
  }
}

}
