#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include "cxx/base/free_memory.hpp"
#include "cxx/cuda/runtime/devices.hpp"
#include "tests/nwchem/symbols_test_support.hpp"
#include "tests/support/environment_variable.hpp"

namespace trifuse::testing {
namespace {

class Kernel : public ::testing::TestWithParam<int> {};

TEST_P(Kernel, OfDoublesOverHolesAgreesWithItsFormula) {
  TaskOfBoth task({2, 5, 3}, {4, 1, 3});
  task.call(doubles1, static_cast<std::size_t>(GetParam()), 6);
  task.expect_same_energies(0.25);
}

TEST_P(Kernel, OfDoublesOverParticlesAgreesWithItsFormula) {
  TaskOfBoth task({3, 1, 4}, {2, 5, 3});
  task.call(doubles2, static_cast<std::size_t>(GetParam()), 17);
  task.expect_same_energies();
}

TEST_P(Kernel, OfSinglesAgreesWithItsFormula) {
  TaskOfBoth task({3, 2, 5}, {4, 3, 2});
  task.call(doubles1, 2, 5);
  task.call(singles, static_cast<std::size_t>(GetParam()));
  task.expect_same_energies(2.0);
}

INSTANTIATE_TEST_SUITE_P(Every, Kernel, ::testing::Range(0, 9));

TEST(Task, AddsUpAllCalls) {
  TaskOfBoth task({5, 3, 7}, {2, 4, 3});
  for (std::size_t n = 0; n < 9; ++n) {
    task.call(singles, n);
    for (const Integer contracted : {3, 1, 8}) task.call(doubles1, n, contracted);
  }
  for (const Integer contracted : {11, 2}) {
    for (std::size_t n = 0; n < 9; ++n) task.call(doubles2, n, contracted);
  }
  task.expect_same_energies(1.0 / 36.0);
}

TEST(Task, MayHaveTilesThatOverflowNwchemsSingles) {
  TaskOfBoth task({40, 2, 1}, {33, 1, 2});
  for (std::size_t n = 0; n < 9; ++n) {
    task.call(singles, n);
    task.call(doubles2, n, 3);
  }
  task.expect_same_energies();
}

TEST(Task, IsFollowedByOthersOfOtherSizes) {
  for (const Integer n : {4, 1, 6}) {
    TaskOfBoth task({n, 2, n}, {1, n, 3});
    task.call(doubles1, 4, n + 1);
    task.call(singles, 8);
    task.expect_same_energies();
  }
}

TEST(Task, HasNoEnergyWithoutDoubles) {
  const Integer one = 1;
  const double eps_h = -1.0, eps_p = 1.0, t1 = 2.0, v2 = 3.0, factor = 1.0;
  double energy[2] = {7.0, 7.0};
  dev_mem_s_(&one, &one, &one, &one, &one, &one);
  sd_t_s1_1_cuda_(&one, &one, &one, &one, &one, &one, nullptr, &t1, &v2);
  dev_mem_d_(&one, &one, &one, &one, &one, &one);
  compute_en_(&factor, energy, &eps_h, &eps_h, &eps_h, &eps_p, &eps_p, &eps_p, &one, &one, &one, &one, &one, &one,
              nullptr, nullptr, nullptr, nullptr);
  EXPECT_EQ(take_failure(), "");
  EXPECT_EQ(energy[0], 0.0);
  EXPECT_EQ(energy[1], 0.0);
}

using WrongUse = SymbolsTest;

TEST_F(WrongUse, OfAKernelBeforeItsMemory) {
  sd_t_s1_3_cuda_(&two, &two, &two, &two, &two, &two, nullptr, numbers.data(), numbers.data());
  expect_failure("Kernel s1_3 was called before");
  sd_t_d2_7_cuda_(&two, &two, &two, &two, &two, &two, &two, nullptr, numbers.data(), numbers.data());
  expect_failure("Kernel d2_7 was called before");
  expect_no_energy(two);
  expect_failure("before the memory");
}

TEST_F(WrongUse, OfExtents) {
  for (const Integer n : {Integer{0}, Integer{-1}, Integer{1} << 40, Integer{1} << 19}) {
    dev_mem_s_(&n, &n, &n, &n, &n, &n);
    expect_failure(n == Integer{1} << 19 ? "too large" : "cannot have");
  }
  begin(two);
  sd_t_d1_2_cuda_(&two, &two, &two, &two, &two, &three, &two, nullptr, numbers.data(), numbers.data());
  expect_failure("Kernel d1_2 was called with other tiles");
  expect_no_energy(two);
  expect_failure("before the memory");
  begin(two);
  expect_no_energy(three);
  expect_failure("other tiles than those");
}

TEST_F(WrongUse, OfNothing) {
  begin(two);
  sd_t_d1_2_cuda_(&two, &two, &two, &two, &two, &two, &two, nullptr, nullptr, numbers.data());
  expect_failure("without operands");
}

TEST_F(WrongUse, OfNumbersThatAreNone) {
  begin(two);
  std::vector<double> bad = numbers;
  bad[3] = std::numeric_limits<double>::quiet_NaN();
  sd_t_d1_2_cuda_(&two, &two, &two, &two, &two, &two, &two, nullptr, bad.data(), numbers.data());
  expect_no_energy(two);
  expect_failure("not finite");
}

TEST(Device, IsUsedByTheFirstRanksOfANode) {
  const Integer none = 0, one = 1;
  EXPECT_EQ(check_device_(&one), 1);
  EXPECT_EQ(check_device_(&none), 0);
  setenv("OMPI_COMM_WORLD_LOCAL_RANK", "1", 1);  // the second rank of its node
  const Integer two = 2;
  EXPECT_EQ(check_device_(&one), 0);
  EXPECT_EQ(check_device_(&two), 1);
  unsetenv("OMPI_COMM_WORLD_LOCAL_RANK");
}

TEST(Device, IsNotChosenWithSettingsThatTheSymbolsDoNotFollow) {
  const EnvironmentVariable omega2("TRIFUSE_OMEGA2", "0.1");
  const Integer one = 1;
  Integer device = 0;
  device_init_(&one, &device);
  EXPECT_EQ(device, 30);
  const std::string failure = take_failure();
  EXPECT_NE(failure.find("TRIFUSE_OMEGA2 is set, but NWChem's symbols do not follow it"), std::string::npos) << failure;
}

#if !defined(__SANITIZE_ADDRESS__)
/// Counted page by page. /proc/self/statm may lag behind by dozens of pages.
std::size_t resident_pages() {
  const double kilobytes = number_in_file("/proc/self/smaps_rollup", "Rss:").value_or(0.0);
  return static_cast<std::size_t>(kilobytes / 4.0);
}

TEST(Memory, IsFlatAfterManyTasks) {
  const auto one_task = [](Integer n) {
    TaskOfBoth task({n, 3, 2}, {2, n, 3});
    initmemmodule_();
    for (std::size_t k = 0; k < 9; ++k) {
      task.call(singles, k);
      task.call(doubles1, k, 3);
      task.call(doubles2, k, 5);
    }
    task.expect_same_energies();
    finalizememmodule_();
  };
  for (int n = 0; n < 500; ++n) one_task(1 + n % 4);
  const std::size_t before = resident_pages();
  EXPECT_GT(before, 0u);
  const auto free_on_device = [] { return visible_device_count() > 0 ? free_device_memory(0) : 0; };
  const std::int64_t free_before = free_on_device();
  // Without a GPU fewer tasks, which may take fewer pages, show a leak of the same size.
  const int tasks = visible_device_count() > 0 ? 10000 : 3000;
  for (int n = 0; n < tasks; ++n) one_task(1 + n % 4);
  EXPECT_LE(resident_pages(), before + static_cast<std::size_t>(tasks * 256 / 10000)) << "pages";
  EXPECT_GE(free_on_device(), free_before - (std::int64_t{16} << 20));
}
#endif

}
}
