#pragma once

#include <cstdint>

#pragma GCC visibility push(default)

namespace trifuse {

/// What the numerators of an energy are divided by. Delta = e_i + e_j + e_k - e_a - e_b - e_c.
enum class Denominator : std::uint8_t {
  orbital_energies,  ///< Delta - 3 omega2
  one_body,          ///< CR-CC(2,3)_B: sums of the one-body tables, see TripleDenominators
  two_body,          ///< CR-CC(2,3)_C: with the two-body tables, too
  three_body,        ///< CR-CC(2,3)_D: with the three-body tables, too
  one,               ///< 1: the numerators themselves
};

/// The right factor of the numerators.
enum class RightFactor : std::uint8_t {
  connected,     ///< D_right
  disconnected,  ///< C3 = t1 c2, the triples of exp(T1 + T2), see Problem::disconnected
  left,          ///< D of the left side of the quotient
};

/// The sides of the energy sum. A problem whose sides have the same operands has only the right side.
enum class Side : std::uint8_t { right, left, second_left };

/// The largest numbers of left sides and of all sides of a problem.
inline constexpr int max_left_sides = 2, max_sides = max_left_sides + 1;

/// Returns left side number n, 0 or 1.
constexpr Side left_side(int n) {
  return n == 0 ? Side::left : Side::second_left;
}

/// A kind of energies that a problem asks for: its left side, its right factor and its denominator. A plain number is
/// an omega2.
struct Quotient {
  double omega2 = 0.0;  ///< hartree; only with orbital_energies
  Denominator denominator = Denominator::orbital_energies;
  RightFactor right = RightFactor::connected;
  Side left = Side::left;  ///< a left side, also if the problem has only the right one

  constexpr Quotient() = default;
  constexpr Quotient(double shift) : omega2(shift) {}  // NOLINT(google-explicit-constructor)
  constexpr Quotient(Denominator of, RightFactor factor = RightFactor::connected, Side side = Side::left)
      : denominator(of), right(factor), left(side) {}
  bool operator==(const Quotient&) const = default;

  /// Returns true if the denominator is a sum of tables.
  constexpr bool of_tables() const {
    return denominator == Denominator::one_body || denominator == Denominator::two_body ||
           denominator == Denominator::three_body;
  }
};

}

#pragma GCC visibility pop
