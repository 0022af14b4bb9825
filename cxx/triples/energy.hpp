#pragma once

/// The energy formulas, element by element. D and S are the connected and the disconnected triples of one element of a
/// task's block; the caller divides by Delta - 3 omega2 and multiplies by the factor of the task.
namespace trifuse {

/// Numerators of E[T] and E(T), all spins and the same-spin part (aaa and bbb) of it.
struct Numerators {
  double e_bracket_t;
  double e_paren_t;
  double e_bracket_t_same;
  double e_paren_t_same;
};

/// Spin-orbital form: E[T] = D D / x, E(T) = (D + S) D / x. Which spin it is, the task says.
constexpr Numerators spin_orbital_numerators(double d_left, double s_left, double d_right) {
  const double e_bracket_t = d_left * d_right;
  return {e_bracket_t, e_bracket_t + s_left * d_right, 0.0, 0.0};
}

/// Spin-adapted form. With W_s the six assignments of holes to particles (see `assignments`: 0..2 even, 3..5 odd
/// permutations), the closed- shell energy of Rendell, Lee and Komornicki,
///
///     E(T) = 1/3 sum (4 W^abc + W^bca + W^cab) (V^abc - V^cba) / x,       V = W + S,
///
/// summed over the orders of abc and ijk, becomes 2 sum_s V_s (3 W_s + P_own - 2 P_other) / x, with P_even = W_0 + W_1
/// + W_2 and P_odd = W_3 + W_4 + W_5. The aaa part of it follows from the antisymmetrised amplitude P_even - P_odd and
/// is counted twice for bbb.
struct SixTargets {
  double e0, e1, e2;  ///< even assignments
  double o3, o4, o5;  ///< odd assignments
  constexpr double even() const { return e0 + e1 + e2; }
  constexpr double odd() const { return o3 + o4 + o5; }
};
constexpr Numerators spin_adapted_numerators(const SixTargets& d_left, const SixTargets& s_left,
                                             const SixTargets& d_right) {
  const double even = d_right.even() - 2.0 * d_right.odd();
  const double odd = d_right.odd() - 2.0 * d_right.even();
  const SixTargets weight{3.0 * d_right.e0 + even, 3.0 * d_right.e1 + even, 3.0 * d_right.e2 + even,
                          3.0 * d_right.o3 + odd,  3.0 * d_right.o4 + odd,  3.0 * d_right.o5 + odd};
  const auto times_weight = [&](const SixTargets& x) {
    return x.e0 * weight.e0 + x.e1 * weight.e1 + x.e2 * weight.e2 + x.o3 * weight.o3 + x.o4 * weight.o4 +
           x.o5 * weight.o5;
  };
  const double e_bracket_t = times_weight(d_left), singles = times_weight(s_left);
  const double same_right = d_right.even() - d_right.odd();
  const double same_left = d_left.even() - d_left.odd();
  const double same_singles = s_left.even() - s_left.odd();
  return {2.0 * e_bracket_t, 2.0 * (e_bracket_t + singles), 2.0 * same_left * same_right,
          2.0 * (same_left + same_singles) * same_right};
}

}  // namespace trifuse
