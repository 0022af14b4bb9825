#include <hdf5.h>

#include <cmath>
#include <filesystem>

#include "c_interface_test_support.hpp"
#include "tests/support/expected_energies.hpp"

namespace trifuse::testing {
namespace {

/// A copy of CH2's dump that declares f_ov t2 as a part of the disconnected triples.
void write_with_fock_in_triples(const std::string& path) {
  std::filesystem::copy_file(pyscf_data() / "ch2_631g_rohf.h5", path);
  std::filesystem::permissions(path, std::filesystem::perms::owner_write, std::filesystem::perm_options::add);
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), space = H5Screate(H5S_SCALAR);
  const hid_t attribute = H5Acreate2(file, "fock_in_triples", H5T_STD_I64LE, space, H5P_DEFAULT, H5P_DEFAULT);
  const std::int64_t one = 1;
  ASSERT_GE(H5Awrite(attribute, H5T_NATIVE_INT64, &one), 0);
  H5Aclose(attribute);
  H5Sclose(space);
  ASSERT_GE(H5Fclose(file), 0);
}

TEST(FockInTriples, OfADescriptionGivesTheNumberOfTheDump) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "ch2.h5").string();
  write_with_fock_in_triples(path);
  OpenCalculation with(path), without((pyscf_data() / "ch2_631g_rohf.h5").string());
  const double expected = with.energy(), other = without.energy();
  EXPECT_GT(std::abs(expected - other), 1e-7);

  trifuse_status status;
  Description description(with.amplitudes);
  description.all.reference = TRIFUSE_ROHF;
  description.all.has_fock = 1;
  const auto energy_of = [&](trifuse_amplitudes amplitudes, int rohf = TRIFUSE_ROHF_GIVEN) {
    OpenCalculation described(amplitudes);
    trifuse_set_rohf(&described.status, described.calculation, rohf);
    return described.energy();
  };
  for (const std::int32_t fock_in_triples : {1, 0, -1}) {
    SCOPED_TRACE(fock_in_triples);
    description.all.fock_in_triples = fock_in_triples;
    // Blocks delivered by a reader, and blocks set one by one.
    trifuse_amplitudes read = trifuse_new_amplitudes(&status, &description.all, read_from, with.amplitudes);
    expect_success(status);
    EXPECT_NEAR(energy_of(read), fock_in_triples == 1 ? expected : other, 1e-14);
    trifuse_amplitudes filled = trifuse_new_amplitudes(&status, &description.all, nullptr, nullptr);
    expect_success(status);
    for (std::int32_t tensor = TRIFUSE_FOCK; tensor <= TRIFUSE_V2; ++tensor) {
      for (std::int64_t n = 0; n < trifuse_block_count(&status, filled, tensor); ++n) {
        std::int64_t tiles[4], size;
        trifuse_get_block_tiles(&status, filled, tensor, n, tiles, &size);
        std::vector<double> block(static_cast<std::size_t>(size));
        trifuse_get_block(&status, with.amplitudes, tensor, tiles, size, block.data());
        expect_success(status);
        trifuse_set_block(&status, filled, tensor, tiles, size, block.data());
        expect_success(status);
      }
    }
    EXPECT_NEAR(energy_of(filled), fock_in_triples == 1 ? expected : other, 1e-14);
    // The standard energy has the term in any case.
    const auto known = read_json(pyscf_data() / "energies.json").at("one_sided").at("ch2_631g_rohf.h5");
    EXPECT_NEAR(energy_of(filled, TRIFUSE_ROHF_SEMICANONICAL), known.at("brute_force").at("E(T)"), 1e-10);
    trifuse_delete_amplitudes(&read);
    trifuse_delete_amplitudes(&filled);
  }
}

}
}
