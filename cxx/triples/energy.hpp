#pragma once

#include <array>
#include <cstddef>
#include <type_traits>

#include "cxx/base/vector_clones.hpp"
#include "cxx/triples/contraction_list.hpp"
#include "cxx/triples/task.hpp"

/// The energy formulas for one element of a task's block. D is the connected triples amplitude of the element, and S is
/// the disconnected one. The caller divides numerators by the denominators of a quotient, and multiplies energies by
/// the weight of the task. For a quotient with RightFactor::disconnected, C3 takes the place of D_right everywhere.
namespace trifuse {

/// Returns 3 omega2: one omega2 for each pair of a hole and a particle. Numerators are divided by Delta - 3 omega2. For
/// host and device code. `omega2`: hartree.
constexpr double denominator_shift(double omega2) {
  return 3.0 * omega2;
}

/// Returns the energies in the spin-orbital formulation: E[T] = D_left D_right / x and E(T) = (D_left + S_left) D_right
/// / x with x = Delta - 3 omega2.
///
/// `d`: the product D_left Y. `s`: the product S_left Y. Both belong to one element, or both are sums over the same
/// elements. With Y = D_right / x the results are energies. With Y = D_right they are numerators.
///
/// CPU cores call this function for each element with Y = D_right, because the numerators are the same for all omega2.
/// They then divide. A GPU divides first, by an approximate reciprocal, and calls this function for the sums of a lane,
/// because it adds up parts of S_left Y in another order. So the energies of cores and of GPUs differ by rounding.
constexpr Energies spin_orbital_energies(double d, double s) {
  return {d, d + s};
}

/// Energies or numerators of one element in single precision.
struct FloatEnergies {
  float e_bracket_t, e_paren_t;
};

/// Adds multiples of energies or numerators to `sums` [Energies::count], in the order of the members of Energies.
template <typename Values>
constexpr void add_multiple(double* sums, double factor, const Values& x) {
  sums[0] += factor * x.e_bracket_t;
  sums[1] += factor * x.e_paren_t;
}

/// Numerators of the spin-adapted formulation. Their type is that of the amplitudes, double or float.
template <typename Number>
struct NumeratorsOf {
  using Values = std::conditional_t<std::is_same_v<Number, float>, FloatEnergies, Energies>;
  Values all;   ///< all spin cases
  Values same;  ///< the part with three equal spins (aaa and bbb)
};
using Numerators = NumeratorsOf<double>;

/// Spin-adapted amplitudes of the six assignments of holes to particles (see `assignments`).
template <typename Number>
struct SixTargetsOf {
  Number e0, e1, e2;  ///< even assignments
  Number o3, o4, o5;  ///< odd assignments
  constexpr Number even() const { return e0 + e1 + e2; }
  constexpr Number odd() const { return o3 + o4 + o5; }
};
using SixTargets = SixTargetsOf<double>;

/// Returns M x with the symmetric matrix M of the closed-shell energy: element s of M x is 3 x_s + P_own - 2 P_other.
/// P_own is the sum of x over the assignments of the same parity as s, P_other the sum over the other assignments.
template <typename Number>
TRIFUSE_ALWAYS_INLINE constexpr SixTargetsOf<Number> times_metric(const SixTargetsOf<Number>& x) {
  constexpr Number two = 2, three = 3;
  const Number even = x.even() - two * x.odd();
  const Number odd = x.odd() - two * x.even();
  return {three * x.e0 + even, three * x.e1 + even, three * x.e2 + even,
          three * x.o3 + odd,  three * x.o4 + odd,  three * x.o5 + odd};
}

/// Returns the numerators of the closed-shell energy of Rendell, Lee and Komornicki,
///
///     E(T) = 1/3 sum (4 W^abc + W^bca + W^cab) (V^abc - V^cba) / x,       V = W + S,  x = Delta - 3 omega2,
///
/// where the sum goes over all orders of abc and of ijk. If W_s is W of assignment s, this is 2 sum_s V_s (M W)_s / x.
/// The aaa part follows from the antisymmetrised amplitude W_0 + W_1 + W_2 - W_3 - W_4 - W_5. The bbb part equals it,
/// and the same-spin results contain both.
///
/// CPU cores call this function in loops over vectors of elements, which a call that is not inlined would prevent.
template <typename Number>
TRIFUSE_ALWAYS_INLINE constexpr NumeratorsOf<Number> spin_adapted_numerators_of(const SixTargetsOf<Number>& d_left,
                                                                                const SixTargetsOf<Number>& s_left,
                                                                                const SixTargetsOf<Number>& d_right) {
  constexpr Number two = 2;
  const SixTargetsOf<Number> weight = times_metric(d_right);
  const auto times_weight = [&](const SixTargetsOf<Number>& x) {
    return x.e0 * weight.e0 + x.e1 * weight.e1 + x.e2 * weight.e2 + x.o3 * weight.o3 + x.o4 * weight.o4 +
           x.o5 * weight.o5;
  };
  const Number e_bracket_t = times_weight(d_left), singles = times_weight(s_left);
  const Number same_right = d_right.even() - d_right.odd();
  const Number same_left = d_left.even() - d_left.odd();
  const Number same_singles = s_left.even() - s_left.odd();
  return {{two * e_bracket_t, two * (e_bracket_t + singles)},
          {two * same_left * same_right, two * (same_left + same_singles) * same_right}};
}
TRIFUSE_ALWAYS_INLINE constexpr Numerators spin_adapted_numerators(const SixTargets& d_left, const SixTargets& s_left,
                                                                   const SixTargets& d_right) {
  return spin_adapted_numerators_of(d_left, s_left, d_right);
}

/// A spin element aab of an element of the spin-adapted formulation: one pair of a hole and a particle has the spin
/// beta, the two other pairs have the spin alpha. Its amplitude is W_even - W_odd.
struct MixedElement {
  int even, odd;       ///< numbers of two assignments, which agree in the pair beta only
  int particle, hole;  ///< positions of the pair beta
};

/// All spin elements aab. An even and an odd assignment differ by one exchange, so they agree in one pair.
inline constexpr std::array<MixedElement, 9> mixed_elements = [] {
  std::array<MixedElement, 9> elements{};
  std::size_t n = 0;
  for (int even = 0; even < 3; ++even) {
    for (int odd = 3; odd < 6; ++odd, ++n) {
      const auto &one = assignments[static_cast<std::size_t>(even)],
                 &other = assignments[static_cast<std::size_t>(odd)];
      std::size_t q = 0;
      while (one[q] != other[q]) ++q;
      elements[n] = {even, odd, static_cast<int>(q), one[q]};
    }
  }
  return elements;
}();
static_assert(
    [] {
      std::array<int, 9> found{};
      for (const MixedElement& x : mixed_elements) ++found[static_cast<std::size_t>(3 * x.particle + x.hole)];
      return found == std::array<int, 9>{1, 1, 1, 1, 1, 1, 1, 1, 1};
    }(),
    "each pair of a particle and a hole must be beta in one spin element");

/// Number of the spin elements of a spatial element: aaa, and those of `mixed_elements`.
inline constexpr int spin_element_count = 10;

/// Amplitudes of the spin elements: [0] is that of aaa, [1 + n] that of `mixed_elements[n]`.
template <typename Number>
struct SpinElementsOf {
  Number amplitude[spin_element_count];
};

/// Returns the spin elements of W, S or C3. If the denominators x of the spin elements differ, the energy is
///
///     E = 2 { A_left A_right / x_aaa + sum of the nine N_left N_right / x_(particle, hole) }
///
/// with the amplitudes A of aaa and N of aab; E(T) has those of W + S on the left. The first term is the part with
/// three equal spins. For equal denominators this is the energy of spin_adapted_numerators_of().
///
/// If two particles or two holes of the same spin are equal, an amplitude is zero except for rounding, and its
/// denominator has no meaning: the caller leaves such spin elements out.
template <typename Number>
constexpr SpinElementsOf<Number> spin_elements(const SixTargetsOf<Number>& w) {
  return {{w.even() - w.odd(), w.e0 - w.o3, w.e0 - w.o4, w.e0 - w.o5, w.e1 - w.o3, w.e1 - w.o4, w.e1 - w.o5,
           w.e2 - w.o3, w.e2 - w.o4, w.e2 - w.o5}};
}

/// Returns the numerators of one spin element from its amplitudes of W or D, S, and the right factor.
template <typename Number>
constexpr typename NumeratorsOf<Number>::Values spin_element_numerators(Number d_left, Number s_left, Number right) {
  constexpr Number two = 2;
  return {two * d_left * right, two * (d_left + s_left) * right};
}

}
