#pragma once

#include "cxx/cuda/schedule/accumulator_layout.hpp"
#include "cxx/cuda/schedule/kernel_parameters.hpp"
#include "cxx/triples/contraction_list.hpp"

/// Denominators of spin elements as sums of tables, see TripleDenominators. They begin with the one-body terms. Each
/// add_*_body() makes those of the next method.
namespace trifuse::gpu {

/// Holes i, j, k and particles a, b, c of an element, as indices of the tables.
struct TableOrbitals {
  std::int32_t hole[3], particle[3];
};

/// Reads the elements of one kind of tables.
struct TableReader {
  const DeviceTables& tables;
  const DeviceTables::Terms& terms;
  const TableOrbitals& x;

  __device__ __forceinline__ double hh(int i, int j) const {
    return __ldg(terms.hh + x.hole[i] * tables.holes + x.hole[j]);
  }
  __device__ __forceinline__ double pp(int a, int b) const {
    return __ldg(terms.pp + x.particle[a] * tables.particles + x.particle[b]);
  }
  __device__ __forceinline__ double hp(int i, int a) const {
    return __ldg(terms.hp + x.particle[a] * tables.holes + x.hole[i]);
  }
  __device__ __forceinline__ double hhp(int i, int j, int a) const {
    return __ldg(terms.hhp + std::int64_t{x.particle[a] * tables.holes + x.hole[i]} * tables.holes + x.hole[j]);
  }
  __device__ __forceinline__ double hpp(int i, int a, int b) const {
    return __ldg(terms.hpp + std::int64_t{x.particle[a] * tables.particles + x.particle[b]} * tables.holes + x.hole[i]);
  }
};

/// Returns the one-body terms, which are those of all spins.
__device__ __forceinline__ double one_body_denominator(const DeviceTables& tables, const TableOrbitals& x) {
  double sum = 0.0;
#pragma unroll
  for (int q = 0; q < 3; ++q) sum += __ldg(tables.h + x.hole[q]) - __ldg(tables.p + x.particle[q]);
  return sum;
}

/// Calls `add(pair[0], pair[1], other)` for the three pairs of positions; `other` is the position outside the pair.
template <typename Add>
__device__ __forceinline__ void for_each_pair(Add add) {
#pragma unroll
  for (int other = 0; other < 3; ++other) add(first_other(other), second_other(other), other);
}

/// The denominator of a spin orbital element.
struct SpinOrbitalDenominator {
  const DeviceTables& tables;
  TableOrbitals x;
  double value;

  __device__ __forceinline__ SpinOrbitalDenominator(const DeviceTables& of, const TableOrbitals& orbitals)
      : tables(of), x(orbitals), value(one_body_denominator(of, orbitals)) {}
  __device__ __forceinline__ void add_two_body() {
    const TableReader read{tables, tables.same, x};
    for_each_pair([&](int y, int z, int q) {
      value -= read.hh(y, z) + read.pp(y, z);
#pragma unroll
      for (int i = 0; i < 3; ++i) value -= read.hp(i, q);
    });
  }
  __device__ __forceinline__ void add_three_body() {
    const TableReader read{tables, tables.same, x};
    for_each_pair([&](int y, int z, int) {
#pragma unroll
      for (int q = 0; q < 3; ++q) value += read.hhp(y, z, q) - read.hpp(q, y, z);
    });
  }
};

/// The denominators of the ten spin elements of a spatial element.
struct SpinAdaptedDenominators {
  const DeviceTables& tables;
  TableOrbitals x;
  double aaa;
  double aab[3][3];  ///< [particle, hole] positions of the pair with the spin beta

  __device__ __forceinline__ SpinAdaptedDenominators(const DeviceTables& of, const TableOrbitals& orbitals)
      : tables(of), x(orbitals), aaa(one_body_denominator(of, orbitals)) {
    for_each([&](int, int, double& sum) { sum = aaa; });
  }
  /// A pair has equal spins if beta is outside, or if both of its orbitals have beta.
  __device__ __forceinline__ void add_two_body() {
    const TableReader same{tables, tables.same, x}, opposite{tables, tables.opposite, x};
    double of_same = 0.0, of_all = 0.0, of_hole[3], of_particle[3];
    double change[3][3];  // [particle, hole] from equal to opposite spins
    for_each_pair([&](int y, int z, int other) {
      const double hh = same.hh(y, z), pp = same.pp(y, z), hh_other = opposite.hh(y, z), pp_other = opposite.pp(y, z);
      of_same += hh + pp;
      of_all += hh_other + pp_other;
      of_hole[other] = hh - hh_other;
      of_particle[other] = pp - pp_other;
    });
#pragma unroll
    for (int q = 0; q < 3; ++q) {
#pragma unroll
      for (int i = 0; i < 3; ++i) {
        const double hp = same.hp(i, q);
        change[q][i] = opposite.hp(i, q) - hp;
        of_same += hp;
        of_all += hp;
        of_particle[q] += change[q][i];
        of_hole[i] += change[q][i];
      }
    }
#pragma unroll
    for (int q = 0; q < 3; ++q) of_hole[q] += of_all;
    aaa -= of_same;
    for_each([&](int p, int h, double& sum) { sum -= of_hole[h] + of_particle[p] - 2.0 * change[p][h]; });
  }
  /// The three-body terms of two holes and a particle, or of two particles and a hole.
  struct ThreeBody {
    double same[3][3], by_first[3][3], by_second[3][3];  ///< [position outside the pair, position of the single one]
  };
  __device__ __forceinline__ ThreeBody of_two_holes() const {
    const TableReader same{tables, tables.same, x}, opposite{tables, tables.opposite, x};
    ThreeBody terms;
    for_each_pair([&](int y, int z, int other) {
#pragma unroll
      for (int q = 0; q < 3; ++q) {
        terms.same[other][q] = same.hhp(y, z, q);
        terms.by_first[other][q] = opposite.hhp(y, z, q);
        terms.by_second[other][q] = opposite.hhp(z, y, q);
      }
    });
    return terms;
  }
  __device__ __forceinline__ ThreeBody of_two_particles() const {
    const TableReader same{tables, tables.same, x}, opposite{tables, tables.opposite, x};
    ThreeBody terms;
    for_each_pair([&](int y, int z, int other) {
#pragma unroll
      for (int q = 0; q < 3; ++q) {
        terms.same[other][q] = same.hpp(q, y, z);
        terms.by_first[other][q] = opposite.hpp(q, y, z);
        terms.by_second[other][q] = opposite.hpp(q, z, y);
      }
    });
    return terms;
  }
  /// Adds of_two_holes().
  __device__ __forceinline__ void add_two_holes(const ThreeBody& terms) {
    add(
        terms, [](double& sum, double x) { sum += x; }, [&](int p, int h) -> double& { return aab[p][h]; });
  }
  /// Subtracts of_two_particles().
  __device__ __forceinline__ void subtract_two_particles(const ThreeBody& terms) {
    add(
        terms, [](double& sum, double x) { sum -= x; }, [&](int h, int p) -> double& { return aab[p][h]; });
  }

 private:
  /// `at(single, of_pair)`: the denominator whose beta spins are at these positions among the single orbitals and
  /// among the orbitals of pairs. An orbital of the pair has the spin of the single one, and the other one may differ.
  template <typename Add, typename At>
  __device__ __forceinline__ void add(const ThreeBody& terms, Add add_to, At at) {
    for_each_pair([&](int y, int z, int other) {
      const auto &same = terms.same[other], &by_y = terms.by_first[other], &by_z = terms.by_second[other];
#pragma unroll
      for (int q = 0; q < 3; ++q) {
        add_to(aaa, same[q]);
#pragma unroll
        for (int p = 0; p < 3; ++p) {
          if (p != q) add_to(at(p, other), same[q]);
          add_to(at(p, z), p != q ? by_y[q] : by_z[q]);
          add_to(at(p, y), p != q ? by_z[q] : by_y[q]);
        }
      }
    });
  }
  template <typename Use>
  __device__ __forceinline__ void for_each(Use use) {
#pragma unroll
    for (int p = 0; p < 3; ++p)
#pragma unroll
      for (int h = 0; h < 3; ++h) use(p, h, aab[p][h]);
  }
};

}
