#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/calculations.hpp"
#include "tests/support/molecules.hpp"
#include "tests/support/swapped_spins.hpp"
#include "tests/support/transformed_source.hpp"

/// Changes of the input or of the run that must not change the energies, or not a single bit of them.
namespace trifuse {
namespace {

using namespace trifuse::testing;

constexpr double largest_difference = 1e-12;

class TheEnergyOf : public ::testing::TestWithParam<NamedMolecule> {
 protected:
  std::unique_ptr<TileSource> source = make_synthetic_source(GetParam().molecule);
  std::unique_ptr<TileSource> left = make_synthetic_source(other_amplitudes(GetParam().molecule));

  /// The numbers of a calculation for two values of omega2.
  static std::vector<double> numbers(const TileSource& right, const TileSource* left_source,
                                     SpinFormulation formulation, std::optional<std::int64_t> tile_size = {}) {
    CalculationOptions options = options_for(formulation, tile_size);
    options.omega2 = {0.0, 0.2};
    return numbers_of(calculate(right, options, left_source));
  }
  void expect_same(const TileSource& other_right, const TileSource& other_left) const {
    for (const SpinFormulation formulation : GetParam().formulations()) {
      SCOPED_TRACE(to_string(formulation));
      EXPECT_LT(relative_difference(numbers(other_right, nullptr, formulation), numbers(*source, nullptr, formulation)),
                largest_difference);
      EXPECT_LT(relative_difference(numbers(other_right, &other_left, formulation),
                                    numbers(*source, left.get(), formulation)),
                largest_difference);
    }
  }
};

TEST_P(TheEnergyOf, DoesNotDependOnTheTiles) {
  for (const SpinFormulation formulation : GetParam().formulations()) {
    const auto one = numbers(*source, nullptr, formulation), two = numbers(*source, left.get(), formulation);
    for (const std::int64_t size : {1, 2, 3, 4, 30}) {
      SCOPED_TRACE(to_string(formulation) + ", tiles of " + std::to_string(size));
      EXPECT_LT(relative_difference(numbers(*source, nullptr, formulation, size), one), largest_difference);
      EXPECT_LT(relative_difference(numbers(*source, left.get(), formulation, size), two), largest_difference);
    }
  }
}

TEST_P(TheEnergyOf, DoesNotDependOnTheSignsOfOrbitals) {
  const auto phases = random_phases(source->tiles(), 5);
  expect_same(*rotated_source(*source, phases), *rotated_source(*left, phases));
}

/// Pairs of orbitals of each class and irrep get equal energies. Then the two orbitals of each pair are rotated.
TEST_P(TheEnergyOf, DoesNotDependOnRotationsOfDegenerateOrbitals) {
  const TileSpace whole = undivided(source->tiles());
  std::vector<double> energies(source->orbital_energies().begin(), source->orbital_energies().end());
  std::vector<Rotation> rotations = no_rotations(source->tiles());
  int turned = 0;
  for (int t = 0; t < whole.size(); ++t) {
    for (std::int64_t x = 0; x + 1 < whole[t].size; x += 2, ++turned) {
      const auto at = static_cast<std::size_t>(whole[t].offset + x);
      energies[at + 1] = energies[at];
      turn(rotations[static_cast<std::size_t>(t)], x, x + 1, 0.4 + static_cast<double>(whole[t].partner));
    }
  }
  EXPECT_GT(turned, 0);
  const auto plain = no_rotations(source->tiles());
  source = rotated_source(*source, plain, energies);
  left = rotated_source(*left, plain, energies);
  expect_same(*rotated_source(*source, rotations), *rotated_source(*left, rotations));
}

class TheOpenShellEnergyOf : public TheEnergyOf {};

TEST_P(TheOpenShellEnergyOf, DoesNotDependOnTheNamesOfTheSpins) {
  const auto swapped = SwappedSpins(*source).take(), swapped_left = SwappedSpins(*left).take();
  const auto total = [](const TileSource& right, const TileSource* on_the_left) {
    const TriplesEnergy energy = calculate(right, options_for(), on_the_left).energies.front();
    return std::vector<double>{energy.total.e_bracket_t,         energy.total.e_paren_t,
                               energy.spin_cases[0].e_paren_t,   energy.spin_cases[1].e_paren_t,
                               energy.spin_cases[1].e_bracket_t, energy.spin_cases[2].e_bracket_t};
  };
  const auto swap = [](std::vector<double> n, const TriplesEnergy& energy) {
    return std::vector<double>{n[0],
                               n[1],
                               energy.spin_cases[3].e_paren_t,
                               energy.spin_cases[2].e_paren_t,
                               energy.spin_cases[2].e_bracket_t,
                               energy.spin_cases[1].e_bracket_t};
  };
  for (const bool two_sided : {false, true}) {
    const TriplesEnergy energy = calculate(*source, options_for(), two_sided ? left.get() : nullptr).energies.front();
    const auto expected = swap({energy.total.e_bracket_t, energy.total.e_paren_t}, energy);
    EXPECT_LT(relative_difference(total(*swapped, two_sided ? swapped_left.get() : nullptr), expected),
              largest_difference);
  }
}

class TheClosedShellEnergyOf : public TheEnergyOf {};

TEST_P(TheClosedShellEnergyOf, IsTheSameInBothForms) {
  for (const TileSource* on_the_left : {static_cast<TileSource*>(nullptr), left.get()}) {
    EXPECT_LT(relative_difference(numbers(*source, on_the_left, SpinFormulation::spin_adapted),
                                  numbers(*source, on_the_left, SpinFormulation::spin_orbital)),
              largest_difference);
  }
}

TEST_P(TheEnergyOf, IsTheSameWithEqualAmplitudesOnBothSidesAsWithOne) {
  for (const SpinFormulation formulation : GetParam().formulations()) {
    const auto same = make_synthetic_source(GetParam().molecule);
    EXPECT_LT(relative_difference(numbers(*source, same.get(), formulation), numbers(*source, nullptr, formulation)),
              1e-13);
  }
}

TEST_P(TheEnergyOf, HasTheSameBitsForAnyNumberOfThreadsAndInEveryRun) {
  for (const SpinFormulation formulation : GetParam().formulations()) {
    CalculationOptions options = options_for(formulation, 2);
    const auto expected = numbers_of(calculate(*source, options));
    for (const int threads : {1, 2, 3}) {
      options.threads = threads;
      EXPECT_EQ(numbers_of(calculate(*source, options)), expected) << threads << " threads";
    }
  }
}

TEST_P(TheEnergyOf, HasTheSameBitsInAListOfOmega2AsAlone) {
  for (const SpinFormulation formulation : GetParam().formulations()) {
    CalculationOptions options = options_for(formulation);
    options.omega2 = {0.0, 0.1, 0.2, 0.5};
    const CalculationResult together = calculate(*source, options, left.get());
    std::vector<double> alone;
    for (const double omega2 : {0.0, 0.1, 0.2, 0.5}) {
      options.omega2 = {omega2};
      const auto numbers = numbers_of(calculate(*source, options, left.get()));
      alone.insert(alone.end(), numbers.begin(), numbers.end());
    }
    EXPECT_EQ(numbers_of(together), alone);
  }
}

TEST_P(TheEnergyOf, ShrinksWithOmega2) {
  CalculationOptions options = options_for();
  options.omega2 = {0.0, 0.1, 0.2, 1.0, 1e6};
  const auto energies = calculate(*source, options).energies;
  for (std::size_t w = 0; w < energies.size(); ++w) {
    EXPECT_LT(energies[w].total.e_bracket_t, 0.0) << "E[T] is a sum of squares over negative denominators";
    if (w == 0) continue;
    EXPECT_GT(energies[w].total.e_bracket_t, energies[w - 1].total.e_bracket_t);
  }
}

INSTANTIATE_TEST_SUITE_P(Every, TheEnergyOf, ::testing::ValuesIn(molecules_of_every_kind()), molecule_name);
INSTANTIATE_TEST_SUITE_P(Every, TheOpenShellEnergyOf, ::testing::ValuesIn(open_shells()), molecule_name);
INSTANTIATE_TEST_SUITE_P(Every, TheClosedShellEnergyOf, ::testing::ValuesIn(closed_shells()), molecule_name);

/// An occupied orbital above virtual orbitals, with an omega2 that makes all needed denominators negative. Elements
/// that vanish by antisymmetry may have zero or positive denominators. They must not change the energies.
TEST(TheEnergy, IgnoresZeroDenominatorsOfElementsThatVanish) {
  for (const Reference reference : {Reference::rhf, Reference::uhf}) {
    const auto source = make_synthetic_source(open_shell(reference, {3, 3, 3, 3}));
    // With omega2 = 0.1 the denominator of i i i -> a a a is exactly 3 * 0.1 - 0.3 for the upper hole.
    std::vector<double> energies;
    for (int spin = 0; spin < 2; ++spin) energies.insert(energies.end(), {-1.0, -1.0, 0.1});
    for (int spin = 0; spin < 2; ++spin) energies.insert(energies.end(), {0.0, 0.7, 0.9});
    const auto degenerate = rotated_source(*source, no_rotations(source->tiles()), energies);
    for (const SpinFormulation formulation : {SpinFormulation::spin_orbital, SpinFormulation::spin_adapted}) {
      if (formulation == SpinFormulation::spin_adapted && reference != Reference::rhf) continue;
      CalculationOptions options = options_for(formulation);
      options.omega2 = {0.1};
      const auto found = numbers_of(calculate(*degenerate, options));
      options.executor = ExecutorKind::reference;
      EXPECT_LT(relative_difference(found, numbers_of(calculate(*degenerate, options))), largest_difference);
      EXPECT_LT(found.front(), 0.0);
    }
  }
}

}
}
