#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cxx/calculation/calculation.hpp"
#include "cxx/calculation/orbitals.hpp"
#include "cxx/moments/rotated_inputs.hpp"
#include "cxx/rotation/orbital_rotation.hpp"
#include "tce_tiles/dump_files/dump_source.hpp"
#include "tests/support/calculations.hpp"
#include "tests/support/factored_dump.hpp"
#include "tests/support/held_arrays.hpp"
#include "tests/support/molecules.hpp"
#include "tests/support/refusals.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/thread_communicator.hpp"
#include "tests/tce_tiles/nwchem_test_data.hpp"

/// Methods with moments whose integrals are factors, whole arrays or blocks.
namespace trifuse {
namespace {

using namespace trifuse::testing;
using enum TriplesMethod;

std::string path_of(const std::string& name) {
  return std::string(TRIFUSE_TEST_DATA) + "/dumps/" + name + ".h5";
}

class MomentsOf : public ::testing::TestWithParam<const char*> {
 protected:
  std::unique_ptr<TileSource> open(const RawDump& dump, SourceInfo info) {
    held_.push_back(std::make_unique<HeldArrays>(dump, HeldArrays::Layout::c_order));
    return held_.back()->open(std::move(info));
  }

  /// Compares the energies of all executors and formulations.
  void expect_same(const TileSource& x, const TileSource* left_of_x, const TileSource& y, const TileSource* left_of_y,
                   const std::vector<TriplesMethod>& methods,
                   std::array<RohfOrbitals, 2> rohf = {RohfOrbitals::given, RohfOrbitals::given}) {
    for (const SpinFormulation formulation : {SpinFormulation::spin_orbital, SpinFormulation::spin_adapted}) {
      if (formulation == SpinFormulation::spin_adapted && !x.tiles().restricted()) continue;
      for (const ExecutorKind executor : {ExecutorKind::cpu, ExecutorKind::reference}) {
        SCOPED_TRACE(to_string(formulation) + ", " + to_string(executor));
        CalculationOptions options = options_for(formulation, 3);
        options.methods = methods;
        options.executor = executor;
        options.rohf = rohf[0];
        const std::vector<double> of_x = numbers_of(calculate(x, options, left_of_x));
        options.rohf = rohf[1];
        const std::vector<double> of_y = numbers_of(calculate(y, options, left_of_y));
        ASSERT_EQ(of_x.size(), of_y.size());
        for (std::size_t n = 0; n < of_x.size(); ++n) EXPECT_NEAR(of_x[n], of_y[n], 1e-14);
        EXPECT_LT(of_x.front(), 0.0);
      }
    }
  }

  std::vector<std::unique_ptr<HeldArrays>> held_;
  Factored integrals_{read_raw_dump(path_of(GetParam()))};
  std::unique_ptr<TileSource> factors_ = open_dump(path_of(GetParam()), 1, 2),
                              lambda_ = open_dump(path_of(std::string(GetParam()) + "_lambda"), 1, 2),
                              whole_ = open(integrals_.whole(), factors_->info());
};

TEST_P(MomentsOf, FactorsAndWholeArraysAreTheSame) {
  expect_same(*factors_, nullptr, *whole_, nullptr, {ct, cr_t});
  expect_same(*factors_, lambda_.get(), *whole_, lambda_.get(), {two_t, cr_cc23});
}

// The left amplitudes are multiplied with the factors of the right ones.
TEST_P(MomentsOf, FactorsWithOtherAmplitudesAreTheSame) {
  RawDump amplitudes = read_raw_dump(path_of(std::string(GetParam()) + "_lambda"));
  SourceInfo info = factors_->info();
  info.amplitudes = AmplitudeKind::regularized_ccsd;
  info.omega2 = 0.2;
  const auto left = open(amplitudes, info);
  integrals_.add_kvvv(amplitudes);
  const auto with_kvvv = open(amplitudes, info);
  expect_same(*factors_, left.get(), *whole_, with_kvvv.get(), {reg_gf_t});
}

TEST_P(MomentsOf, BlocksAndWholeArraysAreTheSame) {
  const AllBlocks blocks(*factors_, integrals_);
  expect_same(blocks, nullptr, *whole_, nullptr, {ct, cr_t});
  expect_same(blocks, lambda_.get(), *whole_, lambda_.get(), {two_t, cr_cc23});
}

// Orbitals that are not canonical are rotated. The same molecule in semicanonical orbitals is not, and neither are
// those of ROHF if it is called UHF. In orbitals of a degenerate pair, denominators depend on their choice.
TEST_P(MomentsOf, OtherOrbitalsGiveTheEnergiesOfSemicanonicalOnes) {
  const bool rohf = factors_->info().reference == Reference::rohf;
  const Factored given = rohf ? integrals_ : integrals_.in_orbitals(integrals_.mixed_orbitals());
  RawDump lambda = read_raw_dump(path_of(std::string(GetParam()) + "_lambda"));
  if (!rohf) lambda = integrals_.amplitudes_in_orbitals(lambda, integrals_.mixed_orbitals());
  if (!rohf) given.set_energies(lambda);
  RawDump plain = given.whole();
  if (!rohf) given.set_energies(plain);
  const auto without_diagonals = open(plain, factors_->info());
  const moments::OrbitalVectors vectors = vectors_of(OrbitalRotation(*without_diagonals), without_diagonals->tiles());
  RawDump with_diagonals = given.whole(&vectors);
  if (!rohf) given.set_energies(with_diagonals);
  const Factored rotated = given.in_orbitals(vectors);
  RawDump by_hand = rotated.whole(), lambda_by_hand = given.amplitudes_in_orbitals(lambda, vectors);
  rotated.set_energies(by_hand);
  rotated.set_energies(lambda_by_hand);
  SourceInfo info = factors_->info(), info_of_lambda = lambda_->info();
  if (rohf) info.reference = info_of_lambda.reference = Reference::uhf;
  const auto whole = open(with_diagonals, factors_->info()), left = open(lambda, lambda_->info());
  const auto expected = open(by_hand, info), expected_left = open(lambda_by_hand, info_of_lambda);
  const std::array<RohfOrbitals, 2> orbitals = {rohf ? RohfOrbitals::semicanonical : RohfOrbitals::given,
                                                RohfOrbitals::given};
  const AllBlocks blocks(*whole, given);
  for (const TileSource* const source : std::initializer_list<const TileSource*>{whole.get(), &blocks}) {
    expect_same(*source, nullptr, *expected, nullptr, {ct, cr_t}, orbitals);
    expect_same(*source, left.get(), *expected, expected_left.get(), {two_t, cr_cc23}, orbitals);
  }
  if (rohf) expect_same(*factors_, left.get(), *expected, expected_left.get(), {two_t, cr_cc23}, orbitals);
  CalculationOptions options = options_for();
  options.methods = {cr_cc23};
  options.rohf = orbitals[0];
  const TemporaryFolder folder;
  options.journal = (folder.path() / "journal").string();
  calculate(*whole, options, left.get());
  RawDump changed = with_diagonals;
  for (auto& [name, data] : changed.datasets) {
    if (name.starts_with("vvvv_diag_semicanonical")) data.values.front() += 1e-6;
  }
  const auto other = open(changed, factors_->info());
  expect_failure<UsageError>([&] { calculate(*other, options, left.get()); },
                             "belongs to a calculation with other input");
  expect_refusal([&] { calculate(*without_diagonals, options, left.get()); },
                 {"lacks vvvv_diag_semicanonical", "--moments"});
}

INSTANTIATE_TEST_SUITE_P(Of, MomentsOf, ::testing::Values("lih_631g_rhf_df", "beh_sto3g_uhf_df", "beh_sto3g_rohf_df"),
                         [](const auto& test) { return std::string(test.param); });

TEST(MomentsOfBlocks, NeedIntegralsOfFourVirtualOrbitals) {
  const auto source = make_synthetic_source(closed_shell(3, 4));
  CalculationOptions options = options_for();
  options.methods = {ct};
  expect_refusal([&] { calculate(*source, options); }, {"has no integrals of four virtual orbitals"});
}

/// Returns E(cT) and E(CR-CCSD(T)) of NWChem's files in a folder of tests/data/nwchem.
std::vector<double> energies_of_nwchem(const std::string& folder) {
  CalculationOptions options = options_for();
  options.methods = {ct, cr_t};
  std::vector<double> energies;
  for (const TriplesEnergy& energy : calculate(*open_dump_of(folder), options).energies) {
    energies.push_back(energy.total.e_paren_t);
  }
  return energies;
}

struct NwchemCase {
  const char* folder;
  const char* lambda;
  RohfOrbitals rohf;
  std::array<double, 4> energies;  ///< CR-CC(2,3)_A, _B, _C, _D, hartree, from PySCF's orbitals and integrals
};

// The left dumps are of the orbitals of NWChem's files.
TEST(MomentsOfNwchemFiles, TakeLambdaAmplitudesOfADump) {
  const std::array<NwchemCase, 2> cases = {
      {{"h2o_631g_c1_rhf_t5_2eorb",
        "h2o_631g_nwchem_rhf_lambda",
        RohfOrbitals::given,
        {-0.00092026400169727, -0.00089070626397482, -0.00116716934503848, -0.00116177322021540}},
       {"ch2_631g_c1_rohf_t3_2eorb",
        "ch2_631g_nwchem_rohf_lambda",
        RohfOrbitals::semicanonical,
        {-0.00057969754599368, -0.00056527061572823, -0.00078732007398021, -0.00078427818008063}}}};
  for (const auto& [folder, lambda, rohf, expected] : cases) {
    const auto right = open_dump_of(folder), left = open_dump(path_of(lambda), 1, 2);
    CalculationOptions options = options_for();
    options.methods = {two_t, cr_cc23};
    options.rohf = rohf;
    const CalculationResult result = calculate(*right, options, left.get());
    ASSERT_EQ(result.energies.size(), expected.size());
    for (std::size_t n = 0; n < expected.size(); ++n)
      EXPECT_NEAR(result.energies[n].total.e_paren_t, expected[n], 2e-10) << result.energies[n].method;
    const auto failures = failures_of_ranks(
        2,
        [&, &options = options, &right = right, &left = left](Communicator& communicator) {
          Calculation calculation(*right, left.get(), options, {.ranks_with_operands = communicator.size()});
          calculation.join(communicator, {});
          const std::vector<double> alone = numbers_of(result), together = numbers_of(calculation.run());
          ASSERT_EQ(together.size(), alone.size());
          for (std::size_t n = 0; n < alone.size(); ++n) EXPECT_NEAR(together[n], alone[n], 1e-14);
        },
        true);
    EXPECT_EQ(failures, std::vector<std::string>(2));
    expect_failure<UsageError>(
        [&, &options = options, &right = right] { calculate(*right, options, right.get()); },
        "has those of ccsd. Give them (--left), for the files of NWChem as a dump in its orbitals.");
  }
}

// The same molecule with integrals of spatial orbitals and of spin orbitals, with and without irreps.
TEST(MomentsOfNwchemFiles, DoNotDependOnTheStorage) {
  const std::vector<double> spatial = energies_of_nwchem("h2o_631g_c1_rhf_t5_2eorb"),
                            spin_orbitals = energies_of_nwchem("h2o_631g_c2v_rhf_t10");
  ASSERT_EQ(spatial.size(), 2U);
  EXPECT_NEAR(spatial[0], spin_orbitals[0], 1e-11);
  EXPECT_NEAR(spatial[1], spin_orbitals[1], 1e-11);
}

}
}
