#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>

#include "tests/c_interface/c_interface_test_support.hpp"
#include "tests/c_interface/dense_arrays.hpp"

/// The option "method" with arrays of a C program.
namespace trifuse::testing {
namespace {

/// Water in 6-31G, see tests/data/moments: only the input arrays.
RawDump water_with_moments() {
  RawDump dump = read_raw_dump(TRIFUSE_TEST_DATA "/moments/h2o_631g_rhf.h5");
  constexpr std::array inputs = {"eps_occ", "eps_vir", "t1",   "t2",   "ovvv", "ovoo",
                                 "ovov",    "oovv",    "fock", "oooo", "kvvv", "vvvv_diag"};
  std::erase_if(dump.datasets,
                [&](const auto& item) { return std::find(inputs.begin(), inputs.end(), item.first) == inputs.end(); });
  return dump;
}

/// A calculation with arrays, which must outlive it.
struct CalculationOfWater {
  explicit CalculationOfWater(const HeldArrays& held) : description(held, TRIFUSE_RHF) {
    expect_success(status);
    trifuse_delete_amplitudes(&amplitudes);
  }
  DenseDescription description;
  trifuse_status status{};
  trifuse_amplitudes amplitudes = trifuse_new_dense_amplitudes(&status, &description.all);
  OpenCalculation open{amplitudes};
};

TEST(MethodsInC, CcsdCt) {
  for (const HeldArrays::Layout layout : {HeldArrays::Layout::c_order, HeldArrays::Layout::reader}) {
    const HeldArrays held(water_with_moments(), layout);
    CalculationOfWater water(held);
    OpenCalculation& open = water.open;
    trifuse_set_option(&open.status, open.calculation, "method", "ct");
    expect_success(open.status);
    EXPECT_NEAR(open.energy(), -0.00090552769918794, 1e-13);
    std::array<char, TRIFUSE_MESSAGE_LENGTH> method{};
    trifuse_get_method(&open.status, open.calculation, 0, method.data());
    EXPECT_STREQ(method.data(), "CCSD(cT)");
    trifuse_set_option(&open.status, open.calculation, "method", "t");
    EXPECT_NEAR(open.energy(), -0.00099397856520671, 1e-13);
  }
}

TEST(MethodsInC, AbsentArraysAreNamed) {
  RawDump dump = water_with_moments();
  for (const char* name : {"oooo", "kvvv"}) dump.datasets.erase(name);
  const HeldArrays held(dump, HeldArrays::Layout::c_order);
  CalculationOfWater water(held);
  OpenCalculation& open = water.open;
  trifuse_set_option(&open.status, open.calculation, "method", "ct");
  trifuse_run(&open.status, open.calculation);
  expect_status(open.status, TRIFUSE_BAD_INPUT, "lacks oooo, kvvv, which");
}

}
}
