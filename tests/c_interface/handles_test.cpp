#include <thread>

#include "c_interface_test_support.hpp"
#include "tests/support/expected_energies.hpp"

namespace trifuse::testing {
namespace {

std::string path_of_water() {
  return (nwchem_data() / "h2o_631g_c2v_rhf_t3_2eorb" / "c").string();
}

class Handles : public ::testing::Test {
 protected:
  void expect_no_amplitudes(trifuse_amplitudes handle) {
    trifuse_status status;
    double number = 0.0;
    std::int64_t tiles[4] = {}, size = 0;
    trifuse_tile tile;
    const auto refused = [&] { expect_status(status, TRIFUSE_BAD_HANDLE, "not a handle of amplitudes"); };
    EXPECT_EQ(trifuse_new_calculation(&status, handle, nullptr), nullptr);
    refused();
    EXPECT_EQ(trifuse_open_left_amplitudes(&status, path_of_water().c_str(), handle), nullptr);
    refused();
    trifuse_correlation_energy(&status, handle);
    refused();
    trifuse_tile_count(&status, handle);
    refused();
    trifuse_get_tile(&status, handle, 0, &tile);
    refused();
    trifuse_get_orbital_energies(&status, handle, 1, &number);
    refused();
    trifuse_block_count(&status, handle, TRIFUSE_T1);
    refused();
    trifuse_get_block_tiles(&status, handle, TRIFUSE_T1, 0, tiles, &size);
    refused();
    trifuse_get_block(&status, handle, TRIFUSE_T1, tiles, 1, &number);
    refused();
    trifuse_set_block(&status, handle, TRIFUSE_T1, tiles, 1, &number);
    refused();
    trifuse_witness_count(&status, handle);
    refused();
    trifuse_get_witness(&status, handle, 0, nullptr);
    refused();
    if (handle != nullptr) {
      EXPECT_EQ(trifuse_open_doubtful_amplitudes(&status, path_of_water().c_str(), handle), nullptr);
      refused();
    }
  }
  void expect_no_calculation(trifuse_calculation handle) {
    trifuse_status status;
    const double omega2 = 0.0;
    const std::int32_t gpu = 0;
    double number = 0.0;
    const auto refused = [&] { expect_status(status, TRIFUSE_BAD_HANDLE, "not a handle of a calculation"); };
    trifuse_set_omega2(&status, handle, 1, &omega2);
    refused();
    trifuse_set_form(&status, handle, TRIFUSE_FORM_AUTO);
    refused();
    trifuse_set_rohf(&status, handle, TRIFUSE_ROHF_GIVEN);
    refused();
    trifuse_set_device(&status, handle, TRIFUSE_DEVICE_CPU);
    refused();
    trifuse_set_gpus(&status, handle, 1, &gpu);
    refused();
    trifuse_set_threads(&status, handle, 1);
    refused();
    trifuse_set_tile_size(&status, handle, 1);
    refused();
    trifuse_set_memory(&status, handle, 1);
    refused();
    trifuse_set_journal(&status, handle, "journal");
    refused();
    trifuse_set_trust_input(&status, handle, 1);
    refused();
    trifuse_warning_count(&status, handle);
    refused();
    trifuse_get_warning(&status, handle, 0, nullptr);
    refused();
    trifuse_run(&status, handle);
    refused();
    trifuse_energy_count(&status, handle);
    refused();
    trifuse_get_energy(&status, handle, 0, &number, &number, &number);
    refused();
  }
};

TEST_F(Handles, AreErrorsAfterTheyWereDeleted) {
  OpenCalculation open(path_of_water());
  trifuse_amplitudes amplitudes = open.amplitudes, copy = amplitudes;
  EXPECT_EQ(trifuse_delete_amplitudes(&amplitudes), TRIFUSE_SUCCESS);
  EXPECT_EQ(amplitudes, nullptr);
  EXPECT_EQ(trifuse_delete_amplitudes(&amplitudes), TRIFUSE_SUCCESS);
  EXPECT_EQ(trifuse_delete_amplitudes(nullptr), TRIFUSE_SUCCESS);
  expect_no_amplitudes(copy);
  EXPECT_EQ(trifuse_delete_amplitudes(&copy), TRIFUSE_BAD_HANDLE);
  EXPECT_EQ(copy, nullptr);

  trifuse_calculation calculation = open.calculation, other = calculation;
  EXPECT_EQ(trifuse_delete_calculation(&calculation), TRIFUSE_SUCCESS);
  expect_no_calculation(other);
  EXPECT_EQ(trifuse_delete_calculation(&other), TRIFUSE_BAD_HANDLE);
  EXPECT_EQ(other, nullptr);
}

TEST_F(Handles, AreNeverFollowed) {
  OpenCalculation open(path_of_water());
  double number = 1.0;
  // Null, handles of the other type, valid and invalid addresses, and numbers next to those of handles.
  const auto value = reinterpret_cast<std::uintptr_t>(open.amplitudes);
  for (const std::uintptr_t each : {std::uintptr_t{0}, reinterpret_cast<std::uintptr_t>(open.calculation),
                                    reinterpret_cast<std::uintptr_t>(&number), std::uintptr_t{1}, std::uintptr_t{8},
                                    std::uintptr_t{4096}, ~std::uintptr_t{0}, value + 1, value - 1, value + 8}) {
    SCOPED_TRACE(each);
    auto handle = reinterpret_cast<trifuse_amplitudes>(each);
    expect_no_amplitudes(handle);
    EXPECT_EQ(trifuse_delete_amplitudes(&handle), each == 0 ? TRIFUSE_SUCCESS : TRIFUSE_BAD_HANDLE);
  }
  for (const std::uintptr_t each : {std::uintptr_t{0}, value, reinterpret_cast<std::uintptr_t>(&number)}) {
    SCOPED_TRACE(each);
    auto handle = reinterpret_cast<trifuse_calculation>(each);
    expect_no_calculation(handle);
    EXPECT_EQ(trifuse_delete_calculation(&handle), each == 0 ? TRIFUSE_SUCCESS : TRIFUSE_BAD_HANDLE);
  }
  EXPECT_NE(open.energy(), 0.0);
}

TEST_F(Handles, AreNotGivenTwice) {
  trifuse_status status;
  std::vector<trifuse_amplitudes> seen;
  for (int n = 0; n < 20; ++n) {
    trifuse_amplitudes handle = trifuse_open_amplitudes(&status, path_of_water().c_str());
    EXPECT_EQ(std::count(seen.begin(), seen.end(), handle), 0);
    seen.push_back(handle);
    trifuse_delete_amplitudes(&handle);
  }
}

TEST_F(Handles, OfAmplitudesMayBeDeletedBeforeTheCalculation) {
  OpenCalculation open(path_of_water());
  const double expected = open.energy();
  trifuse_amplitudes left = trifuse_open_left_amplitudes(&open.status, path_of_water().c_str(), open.amplitudes);
  trifuse_calculation two_sided = trifuse_new_calculation(&open.status, open.amplitudes, left);
  expect_success(open.status);
  trifuse_set_device(&open.status, two_sided, TRIFUSE_DEVICE_CPU);
  EXPECT_EQ(trifuse_delete_amplitudes(&left), TRIFUSE_SUCCESS);
  EXPECT_EQ(trifuse_delete_amplitudes(&open.amplitudes), TRIFUSE_SUCCESS);
  EXPECT_EQ(open.energy(), expected);
  trifuse_run(&open.status, two_sided);
  expect_success(open.status);
  double e_paren_t = 0.0;
  trifuse_get_energy(&open.status, two_sided, 0, nullptr, nullptr, &e_paren_t);
  EXPECT_NEAR(e_paren_t, expected, 1e-14);
  trifuse_delete_calculation(&two_sided);
}

TEST_F(Handles, BelongToAllThreads) {
  std::vector<std::thread> threads;
  for (int n = 0; n < 4; ++n) {
    threads.emplace_back([] {
      for (int k = 0; k < 5; ++k) {
        trifuse_status status;
        trifuse_amplitudes handle = trifuse_open_amplitudes(&status, path_of_water().c_str());
        trifuse_calculation calculation = trifuse_new_calculation(&status, handle, nullptr);
        EXPECT_EQ(trifuse_delete_amplitudes(&handle), TRIFUSE_SUCCESS);
        EXPECT_EQ(trifuse_delete_calculation(&calculation), TRIFUSE_SUCCESS);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}
}
