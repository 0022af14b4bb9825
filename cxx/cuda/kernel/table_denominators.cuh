#pragma once

#include "cxx/cuda/schedule/accumulator_layout.hpp"
#include "cxx/cuda/schedule/kernel_parameters.hpp"
#include "cxx/triples/contraction_list.hpp"

/// Denominators of spin elements as sums of tables, see TripleDenominators. They begin with the one-body terms. Each
/// add_*_body() makes those of the next method.
namespace trifuse::gpu {

/// Holes i, j, k and particles a, b, c of an element, as indices of the tables.
struct TableOrbitals {
  std::int64_t hole[3], particle[3];
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
    return __ldg(terms.hhp + (x.particle[a] * tables.holes + x.hole[i]) * tables.holes + x.hole[j]);
  }
  __device__ __forceinline__ double hpp(int i, int a, int b) const {
    return __ldg(terms.hpp + (x.particle[a] * tables.particles + x.particle[b]) * tables.holes + x.hole[i]);
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
  __device__ __forceinline__ void add_two_body() {
    const TableReader same{tables, tables.same, x}, opposite{tables, tables.opposite, x};
    for_each_pair([&](int y, int z, int q) {
      const double hh[2] = {opposite.hh(y, z), same.hh(y, z)}, pp[2] = {opposite.pp(y, z), same.pp(y, z)};
      aaa -= hh[1] + pp[1];
      // A pair has equal spins if beta is outside.
      for_each([&](int p, int h, double& sum) { sum -= hh[h == q ? 1 : 0] + pp[p == q ? 1 : 0]; });
#pragma unroll
      for (int i = 0; i < 3; ++i) {
        const double hp[2] = {opposite.hp(i, q), same.hp(i, q)};
        aaa -= hp[1];
        for_each([&](int p, int h, double& sum) { sum -= hp[(p == q) == (h == i) ? 1 : 0]; });
      }
    });
  }
  __device__ __forceinline__ void add_three_body() {
    const TableReader same{tables, tables.same, x}, opposite{tables, tables.opposite, x};
    for_each_pair([&](int y, int z, int other) {
#pragma unroll
      for (int q = 0; q < 3; ++q) {
        // Holes y, z and particle q.
        const double hhp = same.hhp(y, z, q), of_y = opposite.hhp(y, z, q), of_z = opposite.hhp(z, y, q);
        aaa += hhp;
        for_each([&](int p, int h, double& sum) {
          if (h == other && p != q) sum += hhp;  // all alpha
          if (h == z && p != q) sum += of_y;     // y and q alpha
          if (h == y && p == q) sum += of_y;     // y and q beta
          if (h == y && p != q) sum += of_z;
          if (h == z && p == q) sum += of_z;
        });
        // Particles y, z and hole q.
        const double hpp = same.hpp(q, y, z), by_y = opposite.hpp(q, y, z), by_z = opposite.hpp(q, z, y);
        aaa -= hpp;
        for_each([&](int p, int h, double& sum) {
          if (p == other && h != q) sum -= hpp;
          if (p == z && h != q) sum -= by_y;
          if (p == y && h == q) sum -= by_y;
          if (p == y && h != q) sum -= by_z;
          if (p == z && h == q) sum -= by_z;
        });
      }
    });
  }

 private:
  template <typename Use>
  __device__ __forceinline__ void for_each(Use use) {
#pragma unroll
    for (int p = 0; p < 3; ++p)
#pragma unroll
      for (int h = 0; h < 3; ++h) use(p, h, aab[p][h]);
  }
};

}
