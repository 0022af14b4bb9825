#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tce_tiles/dump_files/dump_writer.hpp"
#include "tce_tiles/sources/open_source.hpp"
#include "tests/support/calculations.hpp"
#include "tests/support/expected_energies.hpp"
#include "tests/support/molecules.hpp"

/// Computes energies from amplitudes of NWChem and PySCF and compares them with printed energies of these or other
/// programs.
namespace trifuse {
namespace {

using namespace trifuse::testing;

constexpr double published_tolerance = 1e-10;  // hartree

std::unique_ptr<TileSource> open_path(const std::filesystem::path& path, bool integrals_needed = true) {
  NwchemLocation location;
  location.prefix = path.string();
  location.integrals_needed = integrals_needed;
  return open_source(location);
}

std::vector<SpinFormulation> formulations_of(const TileSource& source) {
  if (!source.tiles().restricted()) return {SpinFormulation::spin_orbital};
  return {SpinFormulation::spin_orbital, SpinFormulation::spin_adapted};
}

void expect_near(const Energies& found, const Energies& expected) {
  EXPECT_NEAR(found.e_bracket_t, expected.e_bracket_t, published_tolerance);
  EXPECT_NEAR(found.e_paren_t, expected.e_paren_t, published_tolerance);
}

class EnergyFromNwchemsFiles : public ::testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<TileSource> source = open_path(nwchem_data() / GetParam() / "c");
  ExpectedEnergies expected = expected_energies(GetParam());

  CalculationOptions options(SpinFormulation formulation, std::optional<std::int64_t> tile_size) const {
    CalculationOptions chosen = options_for(formulation, tile_size);
    chosen.omega2 = {0.0};
    for (const auto& [omega2, energies] : expected.regularised) chosen.omega2.push_back(omega2);
    return chosen;
  }
};

TEST_P(EnergyFromNwchemsFiles, IsThePrintedEnergyInEveryFormAndForAnyTileSize) {
  for (const SpinFormulation formulation : formulations_of(*source)) {
    for (const std::optional<std::int64_t> size : {std::optional<std::int64_t>{}, {1}, {7}}) {
      if (size == 1 && source->tiles().orbitals() > 30) continue;  // would take many tasks and test nothing new
      SCOPED_TRACE(to_string(formulation) + ", tiles of " + (size ? std::to_string(*size) : "the usual size"));
      const auto energies = calculate(*source, options(formulation, size)).energies;
      expect_near(energies.front().total, expected.plain);
      for (std::size_t n = 0; n < expected.regularised.size(); ++n) {
        SCOPED_TRACE("omega2 = " + std::to_string(expected.regularised[n].first));
        expect_near(energies[n + 1].total, expected.regularised[n].second);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Every, EnergyFromNwchemsFiles, ::testing::ValuesIn(good_dumps()),
                         [](const auto& test) { return test.param; });

std::vector<std::string> rohf_dumps() {
  std::vector<std::string> names;
  for (const std::string& name : good_dumps("rohf")) {
    if (expected_energies(name).standard_rohf) names.push_back(name);
  }
  return names;
}

class StandardRohfEnergyFromNwchemsFiles : public EnergyFromNwchemsFiles {
 protected:
  double standard(const TileSource& from) const {
    CalculationOptions chosen = options_for();
    chosen.rohf = RohfOrbitals::semicanonical;
    return calculate(from, chosen).energies.front().total.e_paren_t;
  }
};

TEST_P(StandardRohfEnergyFromNwchemsFiles, AgreesWithOtherPrograms) {
  EXPECT_NEAR(standard(*source), *expected.standard_rohf, published_tolerance);
}

TEST_P(StandardRohfEnergyFromNwchemsFiles, SurvivesConversion) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "converted.h5").string();
  write_dump(*source, path);
  const auto converted = open_path(path);
  EXPECT_NEAR(standard(*converted), standard(*source), 1e-13);
  expect_near(calculate(*converted).energies.front().total, expected.plain);
}

INSTANTIATE_TEST_SUITE_P(Every, StandardRohfEnergyFromNwchemsFiles, ::testing::ValuesIn(rohf_dumps()),
                         [](const auto& test) { return test.param; });

TEST(StandardRohfEnergies, AreKnownForBothStoragesOfIntegrals) {
  std::size_t spatial = 0;
  for (const std::string& name : rohf_dumps()) spatial += name.find("2eorb") != std::string::npos ? 1 : 0;
  EXPECT_GT(spatial, 0u);
  EXPECT_LT(spatial, rohf_dumps().size());
}

// HDF5 dumps made with PySCF. The expected energies come from a brute-force program.

nlohmann::json pyscf_energies(const std::string& sides) {
  return read_json(pyscf_data() / "energies.json").at(sides);
}
Energies brute_force(const nlohmann::json& entry) {
  return {entry.at("brute_force").at("E[T]"), entry.at("brute_force").at("E(T)")};
}

TEST(EnergyFromPyscfsDumps, AgreesWithABruteForceProgram) {
  const nlohmann::json dumps = pyscf_energies("one_sided");
  ASSERT_FALSE(dumps.empty());
  for (const auto& [name, entry] : dumps.items()) {
    const auto source = open_path(pyscf_data() / name);
    for (const SpinFormulation formulation : formulations_of(*source)) {
      SCOPED_TRACE(name + ", " + to_string(formulation));
      CalculationOptions options = options_for(formulation);
      if (source->info().reference == Reference::rohf) options.rohf = RohfOrbitals::semicanonical;
      expect_near(calculate(*source, options).energies.front().total, brute_force(entry));
    }
  }
}

TEST(EnergyFromPyscfsDumps, AgreesWithABruteForceProgramForTwoSides) {
  const nlohmann::json pairs = pyscf_energies("two_sided");
  ASSERT_FALSE(pairs.empty());
  for (const auto& entry : pairs) {
    const auto right = open_path(pyscf_data() / entry.at("dump").get<std::string>());
    const auto left = open_path(pyscf_data() / entry.at("left").get<std::string>(), false);
    for (const SpinFormulation formulation : formulations_of(*right)) {
      SCOPED_TRACE(entry.at("left").get<std::string>() + ", " + to_string(formulation));
      const TriplesEnergy energy = calculate(*right, options_for(formulation), left.get()).energies.front();
      EXPECT_EQ(energy.omega2, entry.at("omega2").get<double>());
      expect_near(energy.total, brute_force(entry));
    }
  }
}

}
}
