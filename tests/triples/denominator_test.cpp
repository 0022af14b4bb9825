#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "cxx/plan/plan.hpp"
#include "tests/support/tile_spaces.hpp"

namespace trifuse {
namespace {

using namespace trifuse::testing;

/// The largest denominator, from a loop over all spin orbitals.
double largest_by_brute_force(const TileSpace& space, const std::vector<double>& eps) {
  const auto orbitals = orbitals_of(space);
  struct Sum {
    double energy;
    int spin, irrep;
  };
  const auto sums_of = [&](Space which) {
    std::vector<std::size_t> members;
    for (std::size_t p = 0; p < orbitals.size(); ++p) {
      if (orbitals[p].space == which) members.push_back(p);
    }
    std::vector<Sum> sums;
    for (std::size_t x = 0; x < members.size(); ++x)
      for (std::size_t y = x + 1; y < members.size(); ++y)
        for (std::size_t z = y + 1; z < members.size(); ++z) {
          Sum sum{0.0, 0, 0};
          for (const std::size_t p : {members[x], members[y], members[z]}) {
            sum.energy += eps[p];
            sum.spin += spin_number(orbitals[p].spin);
            sum.irrep ^= orbitals[p].irrep;
          }
          sums.push_back(sum);
        }
    return sums;
  };
  double largest = -std::numeric_limits<double>::infinity();
  const auto holes = sums_of(Space::hole), particles = sums_of(Space::particle);
  for (const Sum& hole : holes) {
    for (const Sum& particle : particles) {
      if (hole.spin == particle.spin && hole.irrep == particle.irrep) {
        largest = std::max(largest, hole.energy - particle.energy);
      }
    }
  }
  return largest;
}

TEST(LargestDenominator, AgreesWithABruteForceSearch) {
  std::mt19937 random(11);
  std::normal_distribution<double> energy(0.0, 1.0);
  int without = 0;
  for (unsigned seed = 1; seed <= 60; ++seed) {
    const int irreps = 1 << seed % 4;
    const std::int64_t most = irreps == 1 ? 6 : irreps == 8 ? 1 : 3;
    const auto ranges = RandomRanges(seed).draw(irreps, most, false);
    if (ranges.empty()) continue;
    const TileSpace space = TileSpace::partition(ranges, 2, 3, false);
    std::vector<double> eps(static_cast<std::size_t>(space.orbitals()));
    for (double& e : eps) e = energy(random);
    const double expected = largest_by_brute_force(space, eps), found = largest_denominator(space, eps);
    if (std::isinf(expected)) {
      EXPECT_EQ(found, expected);
      ++without;
    } else {
      EXPECT_NEAR(found, expected, 1e-13) << "seed " << seed;
    }
  }
  EXPECT_GT(without, 0) << "molecules without any triple excitation should be among the samples";
  EXPECT_LT(without, 30);
}

TEST(LargestDenominator, OfHydrogenLikeAtomsDoesNotExist) {
  const TileSpace space = TileSpace::partition(
      std::vector<OrbitalRange>{{OrbitalClass::hole_alpha, 0, 1}, {OrbitalClass::particle_alpha, 0, 5}}, 4, 4, false);
  EXPECT_EQ(largest_denominator(space, std::vector<double>{-0.5, 1, 2, 3, 4, 5}),
            -std::numeric_limits<double>::infinity());
}

TEST(LargestDenominator, DoesNotDependOnTheTiles) {
  const auto ranges = RandomRanges(5).draw(2, 5, false);
  const TileSpace space = TileSpace::partition(ranges, 30, 30, false);
  std::vector<double> eps(static_cast<std::size_t>(space.orbitals()));
  for (std::size_t p = 0; p < eps.size(); ++p) eps[p] = std::cos(static_cast<double>(3 * p));
  EXPECT_EQ(largest_denominator(space.retiled(1, 2), eps), largest_denominator(space, eps));
}

}
}
