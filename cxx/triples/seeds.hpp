#pragma once

#include "cxx/triples/energy.hpp"

/// The seeds of one element of a task's block: derivatives of E(T) with respect to its amplitudes D and S, for
/// quotients that are shifts. They are the derivatives of the formulas in energy.hpp, as executors compute them. For
/// host and device code.
///
/// `factor` is the weight of the task divided by x = Delta - 3 omega2, where x is that of the element. It is 0 for
/// elements that executors leave out: those with equal orbitals of equal spins (spin-orbital formulation), or with
/// three equal particles or three equal holes (spin-adapted formulation). If both sides have the same operands, the
/// seed of D is the sum of the seeds of D_left and D_right.
namespace trifuse {

/// Returns dE/dD_left, which is dE/dS_left, in the spin-orbital formulation.
template <typename Number>
constexpr Number spin_orbital_left_seed(Number d_right, Number factor) {
  return factor * d_right;
}
/// Returns dE/dD_right in the spin-orbital formulation.
template <typename Number>
constexpr Number spin_orbital_right_seed(Number d_left, Number s_left, Number factor) {
  return factor * (d_left + s_left);
}

/// Returns dE/dD_left, which is dE/dS_left, for the six targets of the spin-adapted formulation.
template <typename Number>
constexpr SixTargetsOf<Number> spin_adapted_left_seeds(const SixTargetsOf<Number>& d_right, Number factor) {
  const Number f = Number{2} * factor;
  const SixTargetsOf<Number> m = times_metric(d_right);
  return {f * m.e0, f * m.e1, f * m.e2, f * m.o3, f * m.o4, f * m.o5};
}
/// Returns dE/dD_right for the six targets of the spin-adapted formulation.
template <typename Number>
constexpr SixTargetsOf<Number> spin_adapted_right_seeds(const SixTargetsOf<Number>& d_left,
                                                        const SixTargetsOf<Number>& s_left, Number factor) {
  return spin_adapted_left_seeds(
      SixTargetsOf<Number>{d_left.e0 + s_left.e0, d_left.e1 + s_left.e1, d_left.e2 + s_left.e2, d_left.o3 + s_left.o3,
                           d_left.o4 + s_left.o4, d_left.o5 + s_left.o5},
      factor);
}

/// Returns dE/dx of an element, or of elements with the same x. `energy`: its E(T), which is the numerator of E(T)
/// times `factor`. `inverse`: 1 / x. This is the derivative by the orbital energies of i, j and k; those of a, b and c
/// have the other sign, and omega2 has minus three times this number.
template <typename Number>
constexpr Number denominator_seed(Number energy, Number inverse) {
  return -energy * inverse;
}

}
