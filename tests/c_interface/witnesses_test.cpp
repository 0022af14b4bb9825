#include <hdf5.h>

#include <cmath>

#include "c_interface_test_support.hpp"
#include "tests/support/expected_energies.hpp"

/// Callers can read the witnesses, and continue after a failed witness.
namespace trifuse::testing {
namespace {

constexpr const char* water_dump = "h2o_631g_c2v_rhf_t3_2eorb";

std::vector<trifuse_witness> witnesses_of(trifuse_amplitudes amplitudes) {
  trifuse_status status;
  std::vector<trifuse_witness> all(static_cast<std::size_t>(trifuse_witness_count(&status, amplitudes)));
  expect_success(status);
  for (std::size_t n = 0; n < all.size(); ++n) {
    trifuse_get_witness(&status, amplitudes, static_cast<std::int64_t>(n), &all[n]);
    expect_success(status);
  }
  return all;
}

trifuse_witness witness_of(trifuse_amplitudes amplitudes, const std::string& name) {
  for (const trifuse_witness& witness : witnesses_of(amplitudes)) {
    if (witness.name == name) return witness;
  }
  ADD_FAILURE() << "no witness " << name;
  return {};
}

std::vector<std::string> warnings_of(trifuse_calculation calculation) {
  trifuse_status status;
  std::vector<std::string> all;
  for (std::int64_t n = 0; n < trifuse_warning_count(&status, calculation); ++n) {
    std::vector<char> warning(TRIFUSE_MESSAGE_LENGTH, 'x');
    trifuse_get_warning(&status, calculation, n, warning.data());
    expect_success(status);
    all.emplace_back(warning.data());
  }
  return all;
}

class Witnesses : public ::testing::Test {
 protected:
  std::string sound() const { return (nwchem_data() / water_dump / "c").string(); }
  /// A dump without a seal. Its CCSD energy is wrong by 1e-3 hartree.
  std::string with_other_ccsd_energy() const {
    const std::string path = (folder_.path() / "other.h5").string();
    fs::copy_file(sound_dump(), path);
    fs::permissions(path, fs::perms::owner_write, fs::perm_options::add);
    const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
    const hid_t attribute = H5Aopen(file, "correlation_energy", H5P_DEFAULT);
    double energy = 0.0;
    EXPECT_GE(H5Aread(attribute, H5T_NATIVE_DOUBLE, &energy), 0);
    energy += 1e-3;
    EXPECT_GE(H5Awrite(attribute, H5T_NATIVE_DOUBLE, &energy), 0);
    H5Aclose(attribute);
    EXPECT_GE(H5Fclose(file), 0);
    return path;
  }
  std::string sound_dump() const { return (pyscf_data() / "h2o_631g_rhf.h5").string(); }
  /// NWChem's files with an output in which (T), and the sums that contain it, are changed by 2e-6 hartree.
  std::string with_other_triples() const {
    const fs::path copy = folder_.path() / "copy";
    fs::create_directory(copy);
    for (const auto& file : fs::directory_iterator(nwchem_data() / water_dump)) {
      fs::copy_file(file.path(), copy / file.path().filename());
    }
    std::string output = read_text(copy / "c.out");
    for (const auto& [old, other] :
         {std::pair{"-0.000996423158747", "-0.000998423158747"}, std::pair{"-0.136394302136339", "-0.136396302136339"},
          std::pair{"-76.120342801081435", "-76.120344801081435"}}) {
      const std::size_t at = output.find(old);
      EXPECT_NE(at, std::string::npos);
      if (at != std::string::npos) output.replace(at, std::string(old).size(), other);
    }
    write_text(copy / "c.out", output);
    return (copy / "c").string();
  }

  TemporaryFolder folder_;
};

TEST_F(Witnesses, OfFilesCanBeRead) {
  OpenCalculation open(sound());
  const auto all = witnesses_of(open.amplitudes);
  EXPECT_GE(all.size(), 4U);
  for (const trifuse_witness& witness : all) {
    EXPECT_EQ(witness.result, TRIFUSE_WITNESS_PASSED) << witness.name;
    EXPECT_LE(witness.value, witness.limit) << witness.name;
    EXPECT_STREQ(witness.note, "") << witness.name;
  }
  EXPECT_STREQ(all.at(0).name, "CCSD energy");
  EXPECT_STREQ(all.at(1).name, "singles equation");
  EXPECT_NE(open.energy(), 0.0);
  EXPECT_TRUE(warnings_of(open.calculation).empty());
}

TEST_F(Witnesses, ThatFailedEndACalculationUnlessTheInputIsTrusted) {
  const double expected = OpenCalculation(sound_dump()).energy();
  const std::string path = with_other_ccsd_energy();
  trifuse_status status;
  EXPECT_EQ(trifuse_open_amplitudes(&status, path.c_str()), nullptr);
  expect_status(status, TRIFUSE_BAD_INPUT, "CCSD correlation energy");
  trifuse_amplitudes doubtful = trifuse_open_doubtful_amplitudes(&status, path.c_str(), nullptr);
  expect_success(status);
  const trifuse_witness failed = witness_of(doubtful, "CCSD energy");
  EXPECT_EQ(failed.result, TRIFUSE_WITNESS_FAILED);
  EXPECT_NEAR(failed.value, 1e-3, 1e-9);
  EXPECT_GE(failed.limit, 1e-8);
  EXPECT_LT(failed.limit, 1e-6);
  EXPECT_NE(std::string(failed.note).find("do not belong together"), std::string::npos) << failed.note;
  EXPECT_EQ(witness_of(doubtful, "first-order doubles").result, TRIFUSE_WITNESS_PASSED);
  EXPECT_EQ(trifuse_correlation_energy(&status, doubtful), 0.0);
  expect_status(status, TRIFUSE_BAD_INPUT, "do not belong together");

  OpenCalculation open(doubtful);
  for (int round = 0; round < 2; ++round) {
    trifuse_run(&open.status, open.calculation);
    expect_status(open.status, TRIFUSE_BAD_INPUT, "do not belong together");
    EXPECT_EQ(trifuse_energy_count(&status, open.calculation), 0);
    EXPECT_TRUE(warnings_of(open.calculation).empty());
    trifuse_set_trust_input(&open.status, open.calculation, 1);
    EXPECT_NEAR(open.energy(), expected, 1e-14);
    ASSERT_EQ(warnings_of(open.calculation).size(), 1U);
    EXPECT_NE(warnings_of(open.calculation)[0].find("CCSD energy"), std::string::npos);
    trifuse_set_trust_input(&open.status, open.calculation, 0);
  }
  // The same for left amplitudes.
  trifuse_amplitudes left = trifuse_open_doubtful_amplitudes(&status, path.c_str(), doubtful);
  expect_success(status);
  EXPECT_EQ(witness_of(left, "CCSD energy").result, TRIFUSE_WITNESS_FAILED);
  EXPECT_EQ(trifuse_open_left_amplitudes(&status, path.c_str(), doubtful), nullptr);
  expect_status(status, TRIFUSE_BAD_INPUT, "CCSD correlation energy");
  trifuse_delete_amplitudes(&left);
  trifuse_delete_amplitudes(&doubtful);
}

TEST_F(Witnesses, UnverifiedAmplitudesAreVerifiedByTheRunThatTheCallerCanCancel) {
  trifuse_status status;
  EXPECT_EQ(trifuse_open_unverified_amplitudes(&status, "absent", 0), nullptr);
  expect_status(status, TRIFUSE_BAD_INPUT, "absent");
  trifuse_amplitudes right = trifuse_open_unverified_amplitudes(&status, with_other_ccsd_energy().c_str(), 0);
  expect_success(status);
  OpenCalculation open(right);
  const auto cancel = [](void*, double, double) { return std::int32_t{1}; };
  trifuse_set_progress(&status, open.calculation, cancel, nullptr);
  trifuse_run(&status, open.calculation);
  expect_status(status, TRIFUSE_CANCELLED, "before its first task");
  trifuse_set_progress(&status, open.calculation, nullptr, nullptr);
  trifuse_run(&status, open.calculation);
  expect_status(status, TRIFUSE_BAD_INPUT, "do not belong together");
  EXPECT_EQ(witness_of(right, "CCSD energy").result, TRIFUSE_WITNESS_FAILED);
  trifuse_delete_amplitudes(&right);

  trifuse_amplitudes sound = trifuse_open_unverified_amplitudes(&status, sound_dump().c_str(), 0);
  trifuse_amplitudes left = trifuse_open_unverified_amplitudes(&status, sound_dump().c_str(), 1);
  expect_success(status);
  trifuse_calculation both = trifuse_new_calculation(&status, sound, left);
  trifuse_run(&status, both);
  expect_success(status);
  trifuse_delete_calculation(&both);
  trifuse_delete_amplitudes(&left);
  EXPECT_EQ(OpenCalculation(sound).energy(), OpenCalculation(sound_dump()).energy());
  trifuse_delete_amplitudes(&sound);
}

TEST_F(Witnesses, OtherTriplesThanThePrintedOnesCanBeTrusted) {
  OpenCalculation open(with_other_triples());
  trifuse_run(&open.status, open.calculation);
  expect_status(open.status, TRIFUSE_BAD_INPUT, "was printed");
  trifuse_set_trust_input(&open.status, open.calculation, 1);
  EXPECT_NEAR(open.energy(), -0.000996423158747, 1e-10);
  ASSERT_EQ(warnings_of(open.calculation).size(), 1U);
  EXPECT_NE(warnings_of(open.calculation)[0].find("is trusted as requested"), std::string::npos);
}

TEST_F(Witnesses, OfBlocksOfTheCallerCanBeReadAndTrusted) {
  OpenCalculation files(sound());
  const double expected = files.energy();
  Description description(files.amplitudes);
  description.all.correlation_energy = -0.2;
  trifuse_status status;
  trifuse_amplitudes read = trifuse_new_amplitudes(&status, &description.all, read_from, files.amplitudes);
  expect_success(status);
  OpenCalculation open(read);
  trifuse_run(&open.status, open.calculation);
  expect_status(open.status, TRIFUSE_BAD_INPUT, "-0.2");
  EXPECT_EQ(witness_of(read, "CCSD energy").result, TRIFUSE_WITNESS_FAILED);
  const trifuse_witness unknown = witness_of(read, "orbital energies");
  EXPECT_EQ(unknown.result, TRIFUSE_WITNESS_UNKNOWN);
  EXPECT_TRUE(std::isnan(unknown.value) && std::isnan(unknown.limit));
  EXPECT_NE(std::string(unknown.note).find("Fock"), std::string::npos);
  trifuse_set_trust_input(&open.status, open.calculation, 1);
  EXPECT_EQ(open.energy(), expected);
  const std::vector<std::string> warnings = warnings_of(open.calculation);
  ASSERT_EQ(warnings.size(), 2U);
  EXPECT_EQ(warnings[0],
            "The blocks are checked only weakly: pass the blocks of exchange integrals and the Fock matrix.");
  // The setting does not apply to another calculation.
  OpenCalculation other(read);
  trifuse_run(&other.status, other.calculation);
  expect_status(other.status, TRIFUSE_BAD_INPUT, "-0.2");
  trifuse_delete_amplitudes(&read);
}

TEST_F(Witnesses, OfBlocksThatWereCorrectedPass) {
  OpenCalculation files(sound());
  struct Program {
    trifuse_amplitudes held;
    double sign;
  } program{files.amplitudes, -1.0};
  const auto deliver = [](void* context, std::int32_t tensor, const std::int64_t* tiles, std::int64_t size,
                          double* block) {
    const auto* data = static_cast<Program*>(context);
    const std::int32_t code = read_from(data->held, tensor, tiles, size, block);
    if (tensor == TRIFUSE_V2) std::transform(block, block + size, block, [&](double x) { return data->sign * x; });
    return code;
  };
  Description description(files.amplitudes);
  trifuse_status status;
  trifuse_amplitudes read = trifuse_new_amplitudes(&status, &description.all, deliver, &program);
  EXPECT_EQ(witness_of(read, "first-order doubles").result, TRIFUSE_WITNESS_FAILED);
  program.sign = 1.0;
  OpenCalculation open(read);
  EXPECT_EQ(open.energy(), files.energy());
  EXPECT_EQ(witness_of(read, "first-order doubles").result, TRIFUSE_WITNESS_PASSED);
  trifuse_delete_amplitudes(&read);
}

TEST_F(Witnesses, OfLeftAmplitudesOfTheCallerAreKnownAfterARun) {
  OpenCalculation files(sound());
  Description description(files.amplitudes);
  description.all.has_integrals = 0;
  trifuse_status status;
  trifuse_amplitudes left = trifuse_new_amplitudes(&status, &description.all, read_from, files.amplitudes);
  expect_success(status);
  EXPECT_EQ(trifuse_witness_count(&status, left), 0);
  expect_status(status, TRIFUSE_BAD_USAGE, "have not been checked");
  trifuse_calculation two_sided = trifuse_new_calculation(&status, files.amplitudes, left);
  trifuse_set_device(&status, two_sided, TRIFUSE_DEVICE_CPU);
  trifuse_run(&status, two_sided);
  expect_success(status);
  EXPECT_EQ(witness_of(left, "singles equation").result, TRIFUSE_WITNESS_PASSED);
  trifuse_delete_calculation(&two_sided);
  trifuse_delete_amplitudes(&left);
}

TEST_F(Witnesses, AndTrustAreBounded) {
  OpenCalculation open(sound());
  for (const std::int32_t value : {-1, 2, 1 << 30}) {
    trifuse_set_trust_input(&open.status, open.calculation, value);
    expect_status(open.status, TRIFUSE_BAD_USAGE, "0 or 1");
  }
  trifuse_witness witness;
  for (const std::int64_t index : {std::int64_t{-1}, std::int64_t{4}, std::int64_t{1} << 62}) {
    trifuse_get_witness(&open.status, open.amplitudes, index, &witness);
    expect_status(open.status, TRIFUSE_BAD_USAGE, "no witness");
    trifuse_get_warning(&open.status, open.calculation, index, nullptr);
    expect_status(open.status, TRIFUSE_BAD_USAGE, "no warning");
  }
  trifuse_get_witness(&open.status, open.amplitudes, 0, nullptr);
  expect_success(open.status);
}

}
}
