#include "cxx/triples/energy.hpp"

#include <gtest/gtest.h>

#include <array>
#include <random>

#include "cxx/triples/contraction_list.hpp"

/// Compares the energy formulas of the executors with the formulas of the literature, for one set of orbitals {a, b,
/// c}, {i, j, k}. The formulas of the literature are summed over all orders of both triples.
namespace trifuse {
namespace {

using Permutation = std::array<int, 3>;

/// An amplitude W for each assignment of three holes to three particles.
struct Amplitudes {
  std::array<double, 6> of_assignment;

  /// W for particles in the order p and holes in the order h. It depends only on the pairs of particle and hole.
  double operator()(const Permutation& p, const Permutation& h) const {
    Permutation hole_of{};
    for (std::size_t q = 0; q < 3; ++q) hole_of[static_cast<std::size_t>(p[q])] = h[q];
    for (std::size_t s = 0; s < 6; ++s) {
      if (assignments[s] == hole_of) return of_assignment[s];
    }
    throw std::logic_error("no such assignment");
  }
  SixTargets six() const {
    const auto& w = of_assignment;
    return {w[0], w[1], w[2], w[3], w[4], w[5]};
  }
  Amplitudes operator+(const Amplitudes& other) const {
    Amplitudes sum = *this;
    for (std::size_t s = 0; s < 6; ++s) sum.of_assignment[s] += other.of_assignment[s];
    return sum;
  }
};

class ClosedShellEnergy : public ::testing::Test {
 protected:
  Amplitudes random_amplitudes() {
    Amplitudes amplitudes{};
    for (double& x : amplitudes.of_assignment) x = number_(random_);
    return amplitudes;
  }

  /// 1/3 sum (4 W^abc + W^bca + W^cab) (V^abc - V^cba) over the 36 orders.
  static double rendell_lee_komornicki(const Amplitudes& w, const Amplitudes& v) {
    double sum = 0.0;
    for (const Permutation& p : assignments) {
      const Permutation bca = {p[1], p[2], p[0]}, cab = {p[2], p[0], p[1]}, cba = {p[2], p[1], p[0]};
      for (const Permutation& h : assignments) {
        sum += (4.0 * w(p, h) + w(bca, h) + w(cab, h)) * (v(p, h) - v(cba, h)) / 3.0;
      }
    }
    return sum;
  }

  /// Energy of three alpha electrons: 1/36 of the sum over all orders of the products of antisymmetrised amplitudes.
  static double three_alpha(const Amplitudes& w, const Amplitudes& v) {
    const auto antisymmetrised = [](const Amplitudes& x, const Permutation& p, const Permutation& h) {
      double sum = 0.0;
      for (std::size_t s = 0; s < 6; ++s) {
        const Permutation& order = assignments[s];
        const auto at = [&](std::size_t q) { return p[static_cast<std::size_t>(order[q])]; };
        sum += (s < 3 ? 1.0 : -1.0) * x({at(0), at(1), at(2)}, h);
      }
      return sum;
    };
    double sum = 0.0;
    for (const Permutation& p : assignments)
      for (const Permutation& h : assignments) sum += antisymmetrised(w, p, h) * antisymmetrised(v, p, h);
    return sum / 36.0;
  }

  void expect_formula(const Amplitudes& d_left, const Amplitudes& s_left, const Amplitudes& d_right) {
    const Numerators found = spin_adapted_numerators(d_left.six(), s_left.six(), d_right.six());
    EXPECT_NEAR(found.all.e_bracket_t, rendell_lee_komornicki(d_right, d_left), 1e-12);
    EXPECT_NEAR(found.all.e_paren_t, rendell_lee_komornicki(d_right, d_left + s_left), 1e-12);
    EXPECT_NEAR(found.same.e_bracket_t, 2.0 * three_alpha(d_right, d_left), 1e-12);
    EXPECT_NEAR(found.same.e_paren_t, 2.0 * three_alpha(d_right, d_left + s_left), 1e-12);
  }

 private:
  std::mt19937 random_{7};
  std::uniform_real_distribution<double> number_{-1.0, 1.0};
};

TEST_F(ClosedShellEnergy, IsTheSumOverAllThirtySixOrders) {
  for (int round = 0; round < 20; ++round) {
    const Amplitudes d = random_amplitudes();
    expect_formula(d, random_amplitudes(), d);
  }
}

TEST_F(ClosedShellEnergy, IsTheSameSumForAnotherLeftSide) {
  for (int round = 0; round < 20; ++round) {
    expect_formula(random_amplitudes(), random_amplitudes(), random_amplitudes());
  }
}

TEST_F(ClosedShellEnergy, IsTheSumOverTheSpinElements) {
  for (int round = 0; round < 20; ++round) {
    const SixTargets d_left = random_amplitudes().six(), s_left = random_amplitudes().six(),
                     d_right = random_amplitudes().six();
    const auto d = spin_elements(d_left), s = spin_elements(s_left), right = spin_elements(d_right);
    Energies same, mixed;
    for (int n = 0; n < spin_element_count; ++n) {
      (n == 0 ? same : mixed) += spin_element_numerators(d.amplitude[n], s.amplitude[n], right.amplitude[n]);
    }
    const Numerators expected = spin_adapted_numerators(d_left, s_left, d_right);
    EXPECT_NEAR(same.e_bracket_t, expected.same.e_bracket_t, 1e-14 * 36.0);
    EXPECT_NEAR(same.e_paren_t, expected.same.e_paren_t, 1e-14 * 72.0);
    EXPECT_NEAR((same + mixed).e_bracket_t, expected.all.e_bracket_t, 1e-14 * 36.0);
    EXPECT_NEAR((same + mixed).e_paren_t, expected.all.e_paren_t, 1e-14 * 72.0);
  }
}

TEST_F(ClosedShellEnergy, HasTheSpinElementsOfTheTable) {
  const SixTargets w = random_amplitudes().six();
  const std::array<double, 6> all = {w.e0, w.e1, w.e2, w.o3, w.o4, w.o5};
  const auto found = spin_elements(w);
  EXPECT_EQ(found.amplitude[0], w.e0 + w.e1 + w.e2 - (w.o3 + w.o4 + w.o5));
  for (std::size_t n = 0; n < 9; ++n) {
    const auto [even, odd, particle, hole] = mixed_elements[n];
    EXPECT_EQ(found.amplitude[1 + n], all[static_cast<std::size_t>(even)] - all[static_cast<std::size_t>(odd)]);
    for (const int assignment : {even, odd})
      EXPECT_EQ(assignments[static_cast<std::size_t>(assignment)][static_cast<std::size_t>(particle)], hole);
  }
}

TEST_F(ClosedShellEnergy, OfOneAmplitudeIsEightTimesItsSquare) {
  // The assignment itself gives 3 W + W = 4 W, and the formula has a factor 2.
  const SixTargets one{1.0, 0.0, 0.0, 0.0, 0.0, 0.0}, none{};
  const Numerators found = spin_adapted_numerators(one, none, one);
  EXPECT_EQ(found.all.e_bracket_t, 8.0);
  EXPECT_EQ(found.all.e_paren_t, 8.0);
  EXPECT_EQ(found.same.e_bracket_t, 2.0);
  EXPECT_EQ(spin_adapted_numerators(none, one, one).all.e_paren_t, 8.0);
  EXPECT_EQ(spin_adapted_numerators(none, one, one).all.e_bracket_t, 0.0);
}

TEST_F(ClosedShellEnergy, OfATotallySymmetricAmplitudeIsZero) {
  // A totally symmetric spatial function of three electrons is impossible, for three equal spins and for two.
  const SixTargets equal{1.0, 1.0, 1.0, 1.0, 1.0, 1.0};
  const Numerators found = spin_adapted_numerators(equal, equal, equal);
  EXPECT_EQ(found.all.e_bracket_t, 0.0);
  EXPECT_EQ(found.all.e_paren_t, 0.0);
  EXPECT_EQ(found.same.e_bracket_t, 0.0);
}

TEST(SpinOrbitalEnergy, IsConnectedTimesConnectedPlusDisconnected) {
  const Energies found = spin_orbital_energies(2.0 * 5.0, 3.0 * 5.0);
  EXPECT_EQ(found.e_bracket_t, 10.0);
  EXPECT_EQ(found.e_paren_t, 25.0);
}

}
}
