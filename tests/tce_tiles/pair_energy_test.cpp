#include <gtest/gtest.h>
#include <hdf5.h>

#include <algorithm>
#include <cmath>

#include "tce_tiles/checks/consistency.hpp"
#include "tce_tiles/checks/dense_check.hpp"
#include "tce_tiles/checks/source_check.hpp"
#include "tce_tiles/dump_files/dump_source.hpp"
#include "tce_tiles/dump_files/dump_writer.hpp"
#include "tce_tiles/sources/synthetic_source.hpp"
#include "tests/tce_tiles/dump_test_data.hpp"

/// Compares the CCSD correlation energy from the arrays of a dump with the energy from its blocks.
namespace trifuse::testing {
namespace {

class DumpEnergy : public DumpTest {
 protected:
  std::string path_;
  void SetUp() override {
    DumpTest::SetUp();
    path_ = file("dump.h5");
  }

  void expect_energy_of_blocks() const {
    const auto source = open_dump(path_, 2, 2);
    const std::optional<double> expected = check_consistency(*source, *source).measured.ccsd_energy;
    const auto found = verify_source(*source, *source, true).ccsd_energy;
    ASSERT_EQ(found.has_value(), expected.has_value());
    if (!expected) return;
    EXPECT_GT(std::abs(*expected), 1e-5);
    EXPECT_NEAR(*found, *expected, 1e-13 * std::max(1.0, std::abs(*expected)));
  }

  /// Removes the mark of synthetic amplitudes. The energy of synthetic amplitudes is not tested.
  static void claim_real_amplitudes(const std::string& path) {
    const hid_t raw = H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
    H5Adelete(raw, "amplitudes");
    H5Fclose(raw);
    remove_seal(path);
  }

  static std::vector<OrbitalSet> molecules() {
    return {{Reference::rhf, closed_shell({0, 0, 0}, {0, 0, 0, 0, 0}).irreps},
            {Reference::rhf, closed_shell({0, 1}, {0, 1, 1}).irreps},
            {Reference::uhf, {{{0, 0, 0}, {0, 0}, {0, 0, 0}, {0, 0, 0, 0}}}},
            {Reference::uhf, {{{0, 1, 1}, {0, 1}, {0, 0, 1}, {0, 0, 0, 1}}}},
            {Reference::uhf, {{{0, 0}, {}, {0, 0, 0}, {0, 0, 0, 0, 0}}}},
            {Reference::rohf, {{{0, 0, 0}, {0, 0}, {0, 0, 0}, {0, 0, 0, 0}}}}};
  }
};

TEST_F(DumpEnergy, IsThatOfTheBlocks) {
  for (const OrbitalSet& orbitals : molecules()) {
    const DenseMolecule m(orbitals, 4);
    raw_dump(m).write(path_);  // without a Fock matrix; ROHF then has no energy
    expect_energy_of_blocks();
    // With a Fock matrix, and integrals of equal spins antisymmetrised.
    write_dump(memory_source(m, 2, 2), path_, {.overwrite = true});
    remove_seal(path_);
    const hid_t raw = H5Fopen(path_.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
    H5Adelete(raw, "correlation_energy");
    H5Fclose(raw);
    expect_energy_of_blocks();
  }
}

TEST_F(DumpEnergy, HasTheSameBitsForAnyNumberOfPartsThreadsAndDoublesInABox) {
  for (const OrbitalSet& orbitals : molecules()) {
    raw_dump(DenseMolecule(orbitals, 6)).write(path_);
    const DumpFile dump = DumpFile::open(path_);
    if (orbitals.reference == Reference::rohf) {
      EXPECT_TRUE(check_dense(dump, {.test_with = &dump}).empty());
      continue;
    }
    const std::vector<double> whole = check_dense(dump, {.test_with = &dump, .threads = 1});
    EXPECT_GT(whole.size(), 2U);
    for (const int parts : {1, 2, 5}) {
      for (const std::int64_t box : {1, 50, 1 << 20}) {
        std::vector<double> sum(whole.size(), 0.0);
        for (int part = 0; part < parts; ++part) {
          const auto shares = check_dense(
              dump, {.test_with = &dump, .part = part, .parts = parts, .threads = parts, .box_doubles = box});
          ASSERT_EQ(shares.size(), whole.size());
          for (std::size_t n = 0; n < sum.size(); ++n) {
            EXPECT_TRUE(sum[n] == 0.0 || shares[n] == 0.0);
            sum[n] += shares[n];
          }
        }
        EXPECT_EQ(sum, whole);
      }
    }
  }
}

TEST_F(DumpEnergy, OfLeftAmplitudesNeedsIntegralsOfRightSource) {
  const DenseMolecule left(closed_shell({0, 0}, {0, 0, 0}), 6), right(closed_shell({0, 0}, {0, 0, 0}), 7);
  RawDump amplitudes = raw_dump(right);
  const RawDump other = raw_dump(left);
  for (const char* name : {"t1", "t2"}) amplitudes.datasets[name] = other.datasets.at(name);
  amplitudes.write(path_);
  const auto whole = open_dump(path_, 2, 2);
  const double expected = verify_source(*whole, *whole, true).ccsd_energy.value();
  RawDump alone = other;
  for (const char* name : {"ovvv", "ovoo", "ovov"}) alone.datasets.erase(name);
  alone.datasets["eps_occ"] = amplitudes.datasets.at("eps_occ");
  alone.datasets["eps_vir"] = amplitudes.datasets.at("eps_vir");
  alone.write(file("left.h5"));
  EXPECT_EQ(verify_source(*open_dump(file("left.h5"), 2, 2), *whole, true).ccsd_energy, expected);
  alone.attributes["correlation_energy"] = expected + 1e-3;
  alone.write(file("left.h5"));
  const std::string text = message<InputError>([&] { verify_source(*open_dump(file("left.h5"), 2, 2), *whole); });
  EXPECT_NE(text.find("left.h5 and " + path_ + " give a CCSD correlation energy of "), std::string::npos) << text;
  alone.attributes["amplitudes"] = std::string("lambda");
  alone.write(file("left.h5"));
  EXPECT_FALSE(verify_source(*open_dump(file("left.h5"), 2, 2), *whole, true).ccsd_energy);
}

/// Sums over this many orbitals are divided into several parts.
TEST_F(DumpEnergy, OfManyOrbitals) {
  for (const Reference reference : {Reference::rhf, Reference::uhf}) {
    write_dump(*make_synthetic_source({reference, 5, 5, 71, 71, 1, 2, 16, 1}), path_, {.overwrite = true});
    claim_real_amplitudes(path_);
    expect_energy_of_blocks();
  }
}

}
}
