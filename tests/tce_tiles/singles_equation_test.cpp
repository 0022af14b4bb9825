#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "nwchem_test_data.hpp"
#include "tce_tiles/checks/source_check.hpp"
#include "tce_tiles/dump_files/dump_source.hpp"
#include "tce_tiles/dump_files/dump_writer.hpp"

/// The CCSD singles equation holds for amplitudes and integrals of other programs. It does not hold for damaged data.
namespace trifuse::testing {
namespace {

Measurements measure_parts(const TileSource& source, int parts = 1, int threads = 0) {
  std::vector<std::unique_ptr<SourceCheck>> checks;
  for (int part = 0; part < parts; ++part) checks.push_back(make_source_check(source, source, {part, parts, threads}));
  for (int stage = 0; stage < checks[0]->stages(); ++stage) {
    std::vector<double> sums;
    for (const auto& check : checks) {
      const std::vector<double> found = check->run(stage);
      sums.resize(found.size(), 0.0);
      for (std::size_t k = 0; k < found.size(); ++k) sums[k] += found[k];
    }
    for (const auto& check : checks) check->accept(stage, sums);
  }
  return checks.back()->measurements();
}

class SinglesEquationOf : public ::testing::TestWithParam<std::string> {};

/// NWChem converged these dumps to 1e-10. They cover RHF, UHF and ROHF, both storages of integrals, all point groups.
TEST_P(SinglesEquationOf, HoldsForBlocksAndForDumps) {
  const auto blocks = open_dump_of(GetParam());
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "dump.h5").string();
  write_dump(*blocks, path);
  const auto dump = open_dump(path, 3, 7);
  const Measurements of_blocks = measure_parts(*blocks), of_dump = measure_parts(*dump);
  for (const Measurements* measured : {&of_blocks, &of_dump}) {
    ASSERT_TRUE(measured->singles) << measured->no_singles_reason;
    EXPECT_TRUE(measured->singles->complete);
    EXPECT_LT(measured->singles->step, 1e-10);
  }
  EXPECT_NEAR(of_blocks.ccsd_energy.value(), of_dump.ccsd_energy.value(), 1e-13);
  EXPECT_NEAR(of_blocks.doubles.t2_d_t2, of_dump.doubles.t2_d_t2, 1e-12);
  EXPECT_NEAR(of_blocks.doubles.t2_v, of_dump.doubles.t2_v, 1e-12);
  EXPECT_LT(of_blocks.energy_fock_difference.value(), 1e-11);
  EXPECT_LT(of_dump.energy_fock_difference.value(), 1e-11);
}

/// The results do not depend on the number of parts.
TEST_P(SinglesEquationOf, IsTheSameForParts) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "dump.h5").string();
  write_dump(*open_dump_of(GetParam()), path);
  const auto dump = open_dump(path, 3, 7);
  const Measurements whole = measure_parts(*dump, 1, 1);
  for (const int parts : {2, 5}) {
    const Measurements shared = measure_parts(*dump, parts, 2);
    EXPECT_NEAR(shared.singles->step, whole.singles->step, 1e-13);
    EXPECT_EQ(shared.ccsd_energy, whole.ccsd_energy);
  }
}

INSTANTIATE_TEST_SUITE_P(Nwchem, SinglesEquationOf,
                         ::testing::Values("h2o_631g_c2v_rhf_t10", "h2o_631g_c1_rhf_t5_2eorb",
                                           "n2_200_ccpvdz_d2h_rhf_fc2_t10", "ch2_631g_c1_uhf_t3",
                                           "oh_ccpvdz_c2v_uhf_t10", "ch2_631g_c1_rohf_t3_2eorb", "o2_631g_d2h_uhf_t3",
                                           "h3_631g_c1_rohf_t3", "n_ccpvdz_c1_rohf_fc1_t5_2eorb"),
                         [](const auto& dump) { return dump.param; });

}
}
