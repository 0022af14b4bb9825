#include "cxx/calculation/fragments.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <string>

#include "cxx/base/error.hpp"
#include "tests/support/calculations.hpp"
#include "tests/support/fragments_of_molecules.hpp"
#include "tests/support/refusals.hpp"

/// Energies of fragments. tests/python/test_fragments.py compares each of them with the formula.
namespace trifuse {
namespace {

using namespace trifuse::testing;

CalculationResult with_fragments(const TileSource& source, const CalculationOptions& options) {
  FragmentRuns runs(source, options);
  EXPECT_EQ(runs.count(), 4U);
  runs.compute(1, nullptr, [&](const TileSource& operands) {
    CalculationOptions of_run = options;
    of_run.right_operands = &operands;
    return calculate(source, of_run);
  });
  CalculationResult result = calculate(source, options);
  runs.add_to(result);
  return result;
}

TEST(EnergiesOfFragments, AddUpToThatOfTheMolecule) {
  for (const NamedMolecule& named : molecules_of_every_kind()) {
    const FragmentsOfMolecule molecule(named.molecule);
    const auto source = molecule.open();
    for (const SpinFormulation formulation : named.formulations()) {
      SCOPED_TRACE(named.name + ", " + to_string(formulation));
      CalculationOptions options = options_for(formulation);
      options.omega2 = {0.0, 0.1};
      const CalculationResult result = with_fragments(*source, options);
      ASSERT_EQ(result.energies.size(), 2U);
      for (const TriplesEnergy& energy : result.energies) {
        ASSERT_EQ(energy.fragments.size(), 2U);
        const Energies difference = energy.fragments[0].energy + energy.fragments[1].energy - energy.total;
        EXPECT_GT(std::abs(energy.fragments[0].energy.e_paren_t), 1e-3 * std::abs(energy.total.e_paren_t));
        for (const double each : difference.values())
          EXPECT_LE(std::abs(each), 1e-13 * std::abs(energy.total.e_paren_t));
      }
    }
  }
}

TEST(EnergiesOfFragments, AreTheSameByTheReference) {
  const FragmentsOfMolecule molecule(closed_shell(3, 4));
  const auto source = molecule.open();
  CalculationOptions options = options_for();
  const double found = with_fragments(*source, options).energies[0].fragments[0].energy.e_paren_t;
  options.executor = ExecutorKind::reference;
  const double expected = with_fragments(*source, options).energies[0].fragments[0].energy.e_paren_t;
  EXPECT_NEAR(found, expected, 1e-13 * std::abs(expected));
}

TEST(EnergiesOfFragments, AreNoneWithoutProjectors) {
  EXPECT_EQ(FragmentRuns(*make_synthetic_source(closed_shell(3, 4)), options_for()).count(), 0U);
}

void expect_refused_fragments(const FragmentsOfMolecule& molecule, const std::string& part) {
  const auto source = molecule.open();
  expect_failure<InputError>([&] { FragmentRuns(*source, options_for()); }, part);
}

TEST(ProjectorsOfFragments, AreRefusedIfTheyAreNone) {
  FragmentsOfMolecule molecule(closed_shell(3, 4));
  auto& [shape, values] = molecule.projectors.at("fragments");
  values[1] += 1e-7;
  expect_refused_fragments(molecule, "'fragments': the projector of fragment 0, counted from 0, is not symmetric");
  values[1] = std::numeric_limits<double>::quiet_NaN();
  expect_refused_fragments(molecule, "a value that is not finite");
  shape = {1, 3, 6};
  expect_refused_fragments(molecule, "'fragments' has the shape [1,3,6], but it must be [n,3,3]");
  shape = {6, 3};
  expect_refused_fragments(molecule, "'fragments' has the shape [6,3]");
}

TEST(ProjectorsOfFragments, AreSymmetric) {
  FragmentsOfMolecule molecule(closed_shell(3, 4));
  const double expected = with_fragments(*molecule.open(), options_for()).energies[0].fragments[0].energy.e_paren_t;
  auto& values = molecule.projectors.at("fragments").values;
  values[1] += 4e-9;
  values[3] -= 4e-9;
  const double found = with_fragments(*molecule.open(), options_for()).energies[0].fragments[0].energy.e_paren_t;
  EXPECT_NEAR(found, expected, 1e-14 * std::abs(expected));
}

TEST(ProjectorsOfFragments, AreNeededForBothSpins) {
  FragmentsOfMolecule molecule(open_shell(Reference::uhf, {3, 2, 4, 5}));
  auto& beta = molecule.projectors.at("fragments_b");
  beta.shape[0] = 1;
  expect_refused_fragments(molecule,
                           "'fragments_b' has the shape [1,2,2], but it must be [2,2,2]: one projector on the occupied "
                           "orbitals for each fragment, as many for each spin");
  molecule.projectors.erase("fragments_b");
  expect_refused_fragments(molecule,
                           "'fragments_b' is missing, but the projectors of the other spin are there; pass both");
}

TEST(ProjectorsOfFragments, AreForMethodsWithBareIntegrals) {
  const FragmentsOfMolecule molecule(closed_shell(3, 4));
  const auto source = molecule.open();
  CalculationOptions options = options_for();
  options.methods = {TriplesMethod::ct};
  expect_failure<UsageError>([&] { FragmentRuns(*source, options); }, "for the methods t and reg-t only");
}

}
}
