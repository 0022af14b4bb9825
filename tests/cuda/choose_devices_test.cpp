#include "cxx/choose_devices.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cxx/base/error.hpp"
#include "cxx/calculation.hpp"
#include "tests/support/calculations.hpp"
#include "tests/support/molecules.hpp"
#include "tests/support/refusals.hpp"

namespace trifuse {
namespace {

using namespace trifuse::testing;

DeviceInfo device(int number, int major, int minor) {
  return {number, "Device " + std::to_string(number), major, minor, 1 << 30, 1 << 30};
}

std::vector<int> numbers_of(const std::vector<DeviceInfo>& devices) {
  std::vector<int> numbers;
  for (const DeviceInfo& each : devices) numbers.push_back(each.number);
  return numbers;
}

const std::vector<DeviceInfo> visible = {device(0, 6, 1), device(1, 7, 5), device(2, 9, 0)};

TEST(ChosenDevices, AreThoseThatAreNamedInTheirOrder) {
  EXPECT_EQ(numbers_of(choose_devices(visible, {2, 1})), (std::vector<int>{2, 1}));
}

TEST(ChosenDevices, AreAllThatAreNewEnoughWhereNoneIsNamed) {
  EXPECT_EQ(numbers_of(choose_devices(visible, {})), (std::vector<int>{1, 2}));
  expect_failure<UsageError>([] { choose_devices({device(0, 7, 0)}, {}); }, "compute capability 7.0");
}

TEST(ChosenDevices, AreRefusedWithTheReason) {
  expect_failure<UsageError>([] { choose_devices(visible, {1, 2, 1}); }, "names GPU 1 twice");
  expect_failure<UsageError>([] { choose_devices(visible, {3}); }, "names GPU 3, but CUDA sees only 0 to 2");
  expect_failure<UsageError>([] { choose_devices({device(0, 9, 0)}, {1}); }, "CUDA sees only GPU 0");
  expect_failure<UsageError>([] { choose_devices(visible, {0}); }, "GPU 0 (Device 0) is too old");
}

TEST(ChosenDevices, DoNotExistWithoutAGpu) {
  if (!visible_devices().empty()) GTEST_SKIP() << "there are GPUs here";
  expect_failure<UsageError>([] { choose_devices({}, {}); }, why_no_devices());
  const auto source = make_synthetic_source(closed_shell(3, 4));
  CalculationOptions options = options_for();
  options.executor = ExecutorKind::cuda;
  expect_failure<UsageError>([&] { Calculation(*source, nullptr, options); }, why_no_devices());
}

}  // namespace
}  // namespace trifuse
