#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "cxx/triples/quotient.hpp"

#pragma GCC visibility push(default)

/// The denominators of CR-CC(2,3) as sums of tables over the orbitals of a tile space, in their sorted order.
namespace trifuse {

/// The denominator of a spin element with holes i, j, k and particles a, b, c is
///
///     x = sum_i h[i] - sum_a p[a]                                                  (one-body)
///         - sum_9 hp[i,a] - sum_3 hh[i,j] - sum_3 pp[a,b]                          (+ two-body)
///         + sum_9 hhp[i,j,a] - sum_9 hpp[i,a,b]                                    (+ three-body)
///
/// In the spin-orbital formulation an orbital is a spin orbital and all terms come from `same`; hhp and hpp are
/// symmetric in their two equal letters. In the spin-adapted formulation orbitals are those of one spin: `same` has the
/// terms of equal spins, `opposite` those of opposite spins. There the first hole of hhp has the spin of the particle,
/// and the hole of hpp has the spin of the first particle; two holes of one spin with a particle of the other have no
/// hhp, two particles of one spin with a hole of the other no hpp.
struct TripleDenominators {
  struct Terms {
    std::vector<double> hh;   ///< [i,j]
    std::vector<double> pp;   ///< [a,b]
    std::vector<double> hp;   ///< [i,a]
    std::vector<double> hhp;  ///< [i,j,a]
    std::vector<double> hpp;  ///< [i,a,b]
  };
  std::int64_t holes = 0, particles = 0;  ///< extents of the arrays; particles are counted from 0
  std::vector<double> h;                  ///< [i], hartree as all arrays
  std::vector<double> p;                  ///< [a]
  Terms same, opposite;

  const Terms& of(bool equal_spins) const { return equal_spins ? same : opposite; }
};

/// The orbitals of a spin element. Positions are 0, 1, 2.
struct SpinElement {
  std::array<std::int64_t, 3> holes, particles;  ///< numbers in the tables
  /// Positions of the hole and of the particle with the spin beta, if the others have the spin alpha. -1: all spins are
  /// equal, or the formulation is that of spin orbitals.
  int beta_hole = -1, beta_particle = -1;
};

/// Returns x of a spin element, term by term. `denominator`: one with tables.
double denominator_of(const TripleDenominators& tables, Denominator denominator, const SpinElement& element);

}

#pragma GCC visibility pop
