#include "cxx/triples/smallest_denominator.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "tests/support/random_denominators.hpp"
#include "tests/support/tile_spaces.hpp"

namespace trifuse {
namespace {

using namespace trifuse::testing;

constexpr double infinite = std::numeric_limits<double>::infinity();

/// A spin orbital with its number in the tables.
struct Numbered {
  std::int64_t number;
  Orbital orbital;
};

/// Returns the spin orbitals of both spins, alpha before beta.
std::vector<Numbered> numbered(const TileSpace& space, Space which, bool adapted) {
  std::vector<Numbered> found;
  std::int64_t of_alpha = 0;
  for (const Orbital& orbital : orbitals_of(space)) {
    if (orbital.space != which) continue;
    const bool beta = orbital.spin == Spin::beta;
    const auto n = static_cast<std::int64_t>(found.size());
    if (!beta) ++of_alpha;
    found.push_back({adapted && beta ? n - of_alpha : n, orbital});
  }
  return found;
}

/// Calls `use` with all three different orbitals in ascending order, their number of beta and their irrep.
template <typename Use>
void for_each_three(const std::vector<Numbered>& all, Use use) {
  for (std::size_t x = 0; x < all.size(); ++x)
    for (std::size_t y = x + 1; y < all.size(); ++y)
      for (std::size_t z = y + 1; z < all.size(); ++z) {
        const std::array three = {all[x], all[y], all[z]};
        int beta = 0, irrep = 0;
        for (const Numbered& each : three) {
          beta += each.orbital.spin == Spin::beta ? 1 : 0;
          irrep ^= each.orbital.irrep;
        }
        use(three, beta, irrep);
      }
}

DenominatorRange by_brute_force(const TripleDenominators& tables, Denominator denominator, const TileSpace& space,
                                bool adapted) {
  DenominatorRange range{infinite, -infinite};
  for_each_three(numbered(space, Space::hole, adapted), [&](const auto& holes, int beta, int irrep) {
    if (adapted && beta > 1) return;
    for_each_three(numbered(space, Space::particle, adapted), [&](const auto& particles, int of_particles, int other) {
      if (beta != of_particles || irrep != other) return;
      SpinElement element;
      for (std::size_t q = 0; q < 3; ++q) {
        element.holes[q] = holes[q].number;
        element.particles[q] = particles[q].number;
      }
      if (adapted && beta == 1) element.beta_hole = element.beta_particle = 2;
      const double x = denominator_of(tables, denominator, element);
      range = {std::min(range.smallest, std::abs(x)), std::max(range.largest, x)};
    });
  });
  return range;
}

TEST(RangeOfDenominators, AgreesWithABruteForceSearch) {
  for (unsigned seed = 1; seed <= 12; ++seed) {
    const bool restricted = seed % 2 == 0, adapted = seed % 4 == 0;
    const int irreps = 1 << seed % 3;
    const TileSpace space =
        TileSpace::partition(RandomRanges(seed).draw(irreps, 6 / irreps + 1, restricted), 3, 3, restricted);
    TripleDenominators tables =
        random_denominators(space, adapted ? SpinFormulation::spin_adapted : SpinFormulation::spin_orbital, 0.0);
    if (seed % 3 == 0) {
      for (double& x : tables.p) x -= 4.4;  // denominators of both signs
    }
    for (const Denominator denominator : {Denominator::one_body, Denominator::two_body, Denominator::three_body}) {
      const DenominatorRange expected = by_brute_force(tables, denominator, space, adapted);
      for (const int threads : {1, 3}) {
        const DenominatorRange found = range_of_denominators(tables, denominator, space, threads);
        if (expected.smallest == infinite) {
          EXPECT_EQ(found.smallest, infinite);
          EXPECT_EQ(found.largest, -infinite);
        } else {
          EXPECT_NEAR(found.smallest, expected.smallest, 1e-12) << seed;
          EXPECT_NEAR(found.largest, expected.largest, 1e-12) << seed;
        }
      }
    }
  }
}

}
}
