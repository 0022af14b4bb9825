#pragma once

#include <array>
#include <cstddef>
#include <span>

#pragma GCC visibility push(default)

namespace trifuse {

/// Sums over doubles t and the integrals <ij||ab> = v of the same elements, hartree.
struct DoublesSums {
  double t2_d_t2 = 0.0;  ///< sum t D t over opposite spins, with D_ijab = eps_i + eps_j - eps_a - eps_b
  double t2_v = 0.0;     ///< sum t v over opposite spins
  double t2_t2 = 0.0;    ///< sum t t over all spins
  double v_v = 0.0;      ///< sum v v over all spins, antisymmetrised for equal spins

  /// Returns all sums, so that processes and threads can add them up.
  std::array<double*, 4> members() { return {&t2_d_t2, &t2_v, &t2_t2, &v_v}; }
};

/// Sums over left doubles l and right doubles t of the same orbitals, all spin cases together.
struct AmplitudeOverlap {
  double left_right = 0.0;    ///< sum l t
  double left_left = 0.0;     ///< sum l l
  double right_right = 0.0;   ///< sum t t
  double right_fourth = 0.0;  ///< sum t t t t
  double difference = 0.0;    ///< sum (l - t)^2; zero if both are the same numbers

  /// Adds elements that have the same places in both arrays. The spans have the same length.
  void add(std::span<const double> left, std::span<const double> right) {
    for (std::size_t k = 0; k < left.size(); ++k) {
      const double l = left[k], t = right[k], square = t * t;
      left_right += l * t;
      left_left += l * l;
      right_right += square;
      right_fourth += square * square;
      difference += (l - t) * (l - t);
    }
  }
  /// Returns all sums, as in DoublesSums.
  std::array<double*, 5> members() { return {&left_right, &left_left, &right_right, &right_fourth, &difference}; }
};

/// Adds sums of the same kind.
template <typename Sums>
void add_sums(Sums from, Sums& to) {
  const auto parts = from.members(), sums = to.members();
  for (std::size_t n = 0; n < parts.size(); ++n) *sums[n] += *parts[n];
}

}

#pragma GCC visibility pop
