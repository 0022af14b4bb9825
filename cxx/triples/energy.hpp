#pragma once

#include <type_traits>

#include "cxx/triples/task.hpp"

/// The energy formulas for one element of a task's block. D is the connected triples amplitude of the element, and S is
/// the disconnected one. The caller divides numerators by Delta - 3 omega2, and multiplies energies by the weight of
/// the task.
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

/// Returns the numerators of the closed-shell energy of Rendell, Lee and Komornicki,
///
///     E(T) = 1/3 sum (4 W^abc + W^bca + W^cab) (V^abc - V^cba) / x,       V = W + S,  x = Delta - 3 omega2,
///
/// where the sum goes over all orders of abc and of ijk. If W_s is W of assignment s, this is 2 sum_s V_s (3 W_s +
/// P_own - 2 P_other) / x. P_own is the sum of W over the assignments of the same parity as s. P_other is the sum over
/// the other assignments. The aaa part follows from the antisymmetrised amplitude W_0 + W_1 + W_2 - W_3 - W_4 - W_5.
/// The bbb part equals it, and the same-spin results contain both.
template <typename Number>
constexpr NumeratorsOf<Number> spin_adapted_numerators_of(const SixTargetsOf<Number>& d_left,
                                                          const SixTargetsOf<Number>& s_left,
                                                          const SixTargetsOf<Number>& d_right) {
  constexpr Number two = 2, three = 3;
  const Number even = d_right.even() - two * d_right.odd();
  const Number odd = d_right.odd() - two * d_right.even();
  const SixTargetsOf<Number> weight{three * d_right.e0 + even, three * d_right.e1 + even, three * d_right.e2 + even,
                                    three * d_right.o3 + odd,  three * d_right.o4 + odd,  three * d_right.o5 + odd};
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
constexpr Numerators spin_adapted_numerators(const SixTargets& d_left, const SixTargets& s_left,
                                             const SixTargets& d_right) {
  return spin_adapted_numerators_of(d_left, s_left, d_right);
}

}
