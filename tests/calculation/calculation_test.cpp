#include "cxx/calculation/calculation.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <vector>

#include "cxx/base/error.hpp"
#include "cxx/calculation/memory_plan.hpp"
#include "cxx/triples/problem.hpp"
#include "tests/support/calculations.hpp"
#include "tests/support/copied_sources.hpp"
#include "tests/support/molecules.hpp"
#include "tests/support/refusals.hpp"
#include "tests/support/transformed_source.hpp"

namespace trifuse {
namespace {

using namespace trifuse::testing;

/// A source with the same numbers and another description.
std::unique_ptr<MemorySource> described(const TileSource& source, const SourceInfo& info, bool integrals = true) {
  const MemorySource from = copy_of(source);
  auto to = std::make_unique<MemorySource>(
      from.tiles(), std::vector<double>(from.orbital_energies().begin(), from.orbital_energies().end()), info,
      MemorySource::Contents{integrals, false});
  for (const Block& b : from.t1_index().blocks()) to->set_t1(b.tiles[0], b.tiles[1], from.t1(b.tiles[0], b.tiles[1]));
  for (const Block& b : from.t2_index().blocks()) {
    const auto& t = b.tiles;
    to->set_t2(t[0], t[1], t[2], t[3], from.t2(t[0], t[1], t[2], t[3]));
  }
  for (const Block& b : from.v2_index().blocks()) {
    const auto& t = b.tiles;
    if (integrals) to->set_v2(t[0], t[1], t[2], t[3], from.v2(t[0], t[1], t[2], t[3]));
  }
  return to;
}

SourceInfo amplitudes(AmplitudeKind kind, double omega2 = 0.0) {
  SourceInfo info;
  info.path = "left";
  info.amplitudes = kind;
  info.omega2 = omega2;
  return info;
}

class ACalculation : public ::testing::Test {
 protected:
  std::unique_ptr<TileSource> water = make_synthetic_source(closed_shell(3, 4));
  std::unique_ptr<TileSource> radical = make_synthetic_source(open_shell(Reference::uhf, {3, 2, 4, 5}));

  template <typename Failure>
  static void expect_refusal(const TileSource& right, const TileSource* left, const CalculationOptions& options,
                             const std::string& part) {
    expect_failure<Failure>([&] { Calculation(right, left, options); }, part);
  }
};

TEST_F(ACalculation, IsSpinAdaptedForAClosedShellUnlessToldOtherwise) {
  EXPECT_EQ(Calculation(*water, nullptr, options_for()).problem().formulation, SpinFormulation::spin_adapted);
  EXPECT_EQ(Calculation(*water, nullptr, options_for(SpinFormulation::spin_orbital)).problem().formulation,
            SpinFormulation::spin_orbital);
  EXPECT_EQ(Calculation(*radical, nullptr, options_for()).problem().formulation, SpinFormulation::spin_orbital);
}

TEST_F(ACalculation, ReportsItsResultOnceBeforeItReturns) {
  std::vector<double> reported;
  const CalculationResult returned =
      Calculation(*water, nullptr, options_for()).run(nullptr, {}, {}, [&](const CalculationResult& result) {
        EXPECT_EQ(result.tasks, result.tasks_in_double);
        reported.push_back(result.energies.at(0).total.e_paren_t);
      });
  EXPECT_EQ(reported, std::vector<double>{returned.energies.at(0).total.e_paren_t});
}

TEST_F(ACalculation, ChecksItsInputBesideItsTasks) {
  const double expected = Calculation(*water, nullptr, options_for()).run().energies.front().total.e_paren_t;
  CalculationOptions options = options_for();
  int checks = 0;
  // The correction for triples of these numbers is larger than this CCSD energy, which is worth a warning.
  options.check_beside_tasks = [&] {
    ++checks;
    return std::optional(1e-6 * expected);
  };
  const CalculationResult result = Calculation(*water, nullptr, options).run();
  EXPECT_EQ(result.energies.front().total.e_paren_t, expected);
  EXPECT_EQ(checks, 1);
  ASSERT_EQ(result.warnings.size(), 1u);
  EXPECT_THAT(result.warnings.front(), ::testing::HasSubstr("larger than the CCSD correlation energy"));
}

TEST_F(ACalculation, GivesNoEnergyIfACheckBesideItsTasksFails) {
  CalculationOptions options = options_for();
  options.check_beside_tasks = []() -> std::optional<double> { throw InputError("Array 't2' is wrong."); };
  for (const bool tasks_fail : {false, true}) {
    std::unique_ptr<MemorySource> source = described(*water, amplitudes(AmplitudeKind::ccsd));
    if (tasks_fail) {
      const int p = source->tiles().hole_tiles();
      source->set_t2(p, p, 0, 0, std::vector<double>(source->t2(p, p, 0, 0).size(), std::nan("")));
    }
    const Calculation calculation(*source, nullptr, options);
    expect_failure<InputError>([&] { calculation.run(); }, "Array 't2' is wrong.");
  }
}

TEST_F(ACalculation, CannotBeSpinAdaptedForAnOpenShell) {
  expect_refusal<UsageError>(*radical, nullptr, options_for(SpinFormulation::spin_adapted), "needs an RHF reference");
}

TEST_F(ACalculation, IsNamedAfterItsAmplitudesAndOmega2) {
  const auto name = [&](const TileSource* left, double omega2) {
    CalculationOptions options = options_for();
    options.omega2 = {omega2};
    const auto right = described(*water, amplitudes(AmplitudeKind::ccsd), true);
    return calculate(*right, options, left).energies.at(0).method;
  };
  const auto regularized = described(*water, amplitudes(AmplitudeKind::regularized_ccsd, 0.1), false);
  const auto lambda = described(*water, amplitudes(AmplitudeKind::lambda), false);
  const auto ccsd = described(*water, amplitudes(AmplitudeKind::ccsd), false);
  EXPECT_EQ(name(nullptr, 0.0), "CCSD(T)");
  EXPECT_EQ(name(nullptr, 0.1), "denominator-shifted CCSD(T)");
  EXPECT_EQ(name(regularized.get(), 0.1), "Reg-CCSD(T)");
  EXPECT_EQ(name(regularized.get(), 0.2),
            "denominator-shifted two-sided (T) with left amplitudes regularised at omega2 = 0.1");
  EXPECT_EQ(name(lambda.get(), 0.0), "Lambda-CCSD(T)");
  EXPECT_EQ(name(ccsd.get(), 0.0), "two-sided CCSD(T)");
}

TEST_F(ACalculation, TakesOmega2FromRegularizedLeftAmplitudes) {
  const auto regularized = described(*water, amplitudes(AmplitudeKind::regularized_ccsd, 0.15), false);
  EXPECT_EQ(Calculation(*water, regularized.get(), options_for()).problem().omega2(), std::vector<double>{0.15});
  EXPECT_EQ(Calculation(*water, nullptr, options_for()).problem().omega2(), std::vector<double>{0.0});
}

TEST_F(ACalculation, NeedsIntegralsOnTheRight) {
  const auto amplitudes_only = described(*water, amplitudes(AmplitudeKind::ccsd), false);
  expect_refusal<InputError>(*amplitudes_only, nullptr, options_for(), "holds amplitudes only");
}

TEST_F(ACalculation, RefusesALeftSideOverOtherOrbitals) {
  const auto larger = make_synthetic_source(closed_shell(3, 5));
  const auto symmetric = make_synthetic_source(closed_shell(3, 4, 2));
  expect_refusal<InputError>(*water, larger.get(), options_for(), "have different orbitals");
  expect_refusal<InputError>(*water, symmetric.get(), options_for(), "have different orbitals");
  expect_refusal<InputError>(*water, radical.get(), options_for(), "have different orbitals");
}

TEST_F(ACalculation, RefusesALeftSideWithOtherOrbitalEnergies) {
  std::vector<double> energies(water->orbital_energies().begin(), water->orbital_energies().end());
  energies[1] += 1e-5;
  const auto other = rotated_source(*water, no_rotations(water->tiles()), energies);
  expect_refusal<InputError>(*water, other.get(), options_for(), "have different orbital energies");
}

TEST_F(ACalculation, TakesALeftSideInOtherTiles) {
  const auto other = make_synthetic_source(other_amplitudes(closed_shell(3, 4)));
  const auto in_other_tiles = copy_in_tiles(*other, 1, 3);
  const auto expected = numbers_of(calculate(*water, options_for(), other.get()));
  EXPECT_EQ(numbers_of(calculate(*water, options_for(), in_other_tiles.get())), expected);
}

TEST_F(ACalculation, RefusesAnOmega2ThatIsNegativeOrNoNumber) {
  for (const double omega2 : {-0.1, std::nan(""), static_cast<double>(INFINITY)}) {
    CalculationOptions options = options_for();
    options.omega2 = {0.1, omega2};
    expect_refusal<UsageError>(*water, nullptr, options, "omega2");
  }
}

TEST_F(ACalculation, RefusesDenominatorsThatAreNotNegativeAndNamesAnOmega2ThatCures) {
  // The highest occupied and the lowest virtual orbital of either spin at the same energy, the rest close by.
  std::vector<double> energies = {-0.1, -0.1, 0.3, -0.1, -0.1, 0.3, 0.0, 0.0, 0.2, 0.5, 0.0, 0.0, 0.2, 0.5};
  energies.resize(static_cast<std::size_t>(water->tiles().orbitals()));
  const auto inverted = rotated_source(*water, no_rotations(water->tiles()), energies);
  const double largest = 0.3 + 0.3 - 0.1;  // both electrons of the highest orbital into two of energy 0
  CalculationOptions options = options_for();
  expect_refusal<InputError>(*inverted, nullptr, options, "--omega2 above");
  options.omega2 = {largest / 3.0 + 0.001};
  EXPECT_NEAR(Calculation(*inverted, nullptr, options).largest_denominator(), largest, 1e-14);
  EXPECT_LT(calculate(*inverted, options).energies.front().total.e_bracket_t, 0.0);
  options.omega2 = {0.5, largest / 3.0 - 0.001};
  expect_refusal<InputError>(*inverted, nullptr, options, "--omega2 above 0.16");
}

TEST_F(ACalculation, UsesNoMoreThreadsThanItsMemoryAllows) {
  CalculationOptions options = options_for();
  options.threads = 8;
  const std::int64_t one_thread = Calculation(*water, nullptr, options).memory().scratch() / 8;
  options.memory = 3 * one_thread;
  EXPECT_EQ(Calculation(*water, nullptr, options).memory().threads, 3);
  EXPECT_EQ(Calculation(*water, nullptr, options).memory().scratch(), options.memory);
  options.memory = one_thread - 1;
  expect_refusal<UsageError>(*water, nullptr, options, "--memory allows");
}

TEST_F(ACalculation, SaysWhichRohfEnergyItIs) {
  const auto rohf = make_synthetic_source(open_shell(Reference::rohf, {3, 2, 4, 5}));
  CalculationOptions options = options_for();
  EXPECT_NE(Calculation(*rohf, nullptr, options).reference_note().find("NWChem's ROHF-CCSD(T)"), std::string::npos);
  options.rohf = RohfOrbitals::semicanonical;
  EXPECT_NE(Calculation(*rohf, nullptr, options).reference_note().find("standard ROHF-CCSD(T)"), std::string::npos);
  EXPECT_TRUE(Calculation(*radical, nullptr, options_for()).reference_note().empty());
}

TEST_F(ACalculation, WithoutTriplesHasAnEnergyOfZero) {
  const auto helium = make_synthetic_source(closed_shell(1, 5));
  for (const SpinFormulation formulation : {SpinFormulation::spin_orbital, SpinFormulation::spin_adapted}) {
    const CalculationResult result = calculate(*helium, options_for(formulation));
    EXPECT_EQ(result.tasks, 0u);
    EXPECT_EQ(result.energies.front().total.e_paren_t, 0.0);
  }
}

TEST_F(ACalculation, HasSpinCasesThatAddUp) {
  for (const TileSource* source : {water.get(), radical.get()}) {
    const TriplesEnergy energy = calculate(*source).energies.front();
    Energies sum;
    for (const Energies& of_case : energy.spin_cases) sum += of_case;
    EXPECT_DOUBLE_EQ(sum.e_bracket_t, energy.total.e_bracket_t);
    EXPECT_DOUBLE_EQ(sum.e_paren_t, energy.total.e_paren_t);
  }
  const auto cases = calculate(*water).energies.front().spin_cases;
  EXPECT_EQ(cases[0].e_paren_t, cases[3].e_paren_t);
  EXPECT_EQ(cases[1].e_paren_t, cases[2].e_paren_t);
}

}
}
