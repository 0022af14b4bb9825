#include "cxx/cuda/runtime/choose_devices.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cxx/base/error.hpp"
#include "cxx/calculation/calculation.hpp"
#include "tests/support/calculations.hpp"
#include "tests/support/molecules.hpp"
#include "tests/support/refusals.hpp"

namespace trifuse {
namespace {

using namespace trifuse::testing;

DeviceInfo device(int number, int major, int minor) {
  return {number, "Device " + std::to_string(number), major, minor, 1 << 30, "GPU-of-number-" + std::to_string(number)};
}

std::vector<int> numbers_of(const std::vector<DeviceInfo>& devices) {
  std::vector<int> numbers;
  for (const DeviceInfo& each : devices) numbers.push_back(each.number);
  return numbers;
}

const std::vector<DeviceInfo> visible = {device(0, 6, 1), device(1, 7, 5), device(2, 9, 0)};

TEST(ChosenDevices, AreTheNamedOnesInTheirOrder) {
  EXPECT_EQ(numbers_of(choose_devices(visible, {2, 1})), (std::vector<int>{2, 1}));
}

TEST(ChosenDevices, AreAllSupportedOnesIfNoneIsNamed) {
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

using Indices = std::vector<std::vector<std::size_t>>;

/// [rank] The indices of the GPUs that each rank gets.
Indices assigned(const std::vector<std::string>& hosts, const std::vector<std::string>& lists, bool share) {
  Indices indices;
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    indices.push_back(assigned_devices(hosts, lists, rank, share));
  }
  return indices;
}

TEST(AssignedDevices, AreEqualPartsOfThoseOfTheHost) {
  const std::string four = "0 1 2 3";
  EXPECT_EQ(assigned({"a"}, {four}, false), (Indices{{0, 1, 2, 3}}));
  EXPECT_EQ(assigned({"a", "a"}, {four, four}, false), (Indices{{0, 1}, {2, 3}}));
  EXPECT_EQ(assigned({"a", "a", "a"}, {four, four, four}, false), (Indices{{0}, {1}, {2, 3}}));
  EXPECT_EQ(assigned({"a", "b", "a", "b", "a", "a"}, {four, four, four, four, four, four}, false),
            (Indices{{0}, {0, 1}, {1}, {2, 3}, {2}, {3}}));
  EXPECT_EQ(assigned({"a", "a", "a"}, {four, "", four}, false), (Indices{{0, 1}, {}, {2, 3}}));
}

TEST(AssignedDevices, BelongToOneRankOfAHostEach) {
  EXPECT_EQ(assigned({"a", "b", "a", "a", "b"}, {"0 1", "0 1", "0 1", "0 1", "0 1"}, false),
            (Indices{{0}, {0}, {1}, {}, {1}}));
  EXPECT_EQ(assigned({"a", "a"}, {"", "3"}, false), (Indices{{}, {0}}));
}

TEST(AssignedDevices, AreAmongThoseThatTheLauncherShowsToEachRank) {
  EXPECT_EQ(assigned({"a", "a", "a"}, {"GPU-x", "GPU-y", "GPU-y"}, false), (Indices{{0}, {0}, {}}));
  EXPECT_EQ(assigned({"a", "a"}, {"x y", "z y w"}, false), (Indices{{0, 1}, {0, 2}}));
}

TEST(AssignedDevices, AreSharedInTurnOnRequest) {
  EXPECT_EQ(assigned({"a", "a", "a", "b"}, {"2 0", "2 0", "2 0", "2 0"}, true), (Indices{{0}, {1}, {0}, {0, 1}}));
}

TEST(DevicesOfRank, BeginInTurnForTheFirstRanksOfANode) {
  const auto numbers = [](std::int64_t rank, std::int64_t gpus_per_node) {
    return numbers_of(devices_of_rank(visible, rank, gpus_per_node));
  };
  EXPECT_EQ(numbers(0, 2), (std::vector<int>{1, 2}));
  EXPECT_EQ(numbers(1, 2), (std::vector<int>{2, 1}));
  EXPECT_EQ(numbers(2, 2), (std::vector<int>{}));
  EXPECT_EQ(numbers(0, 0), (std::vector<int>{}));
  EXPECT_EQ(numbers(2, 5), (std::vector<int>{1, 2}));  // more ranks than GPUs share them
}

TEST(DevicesOfRank, AreTheOneThatTheLauncherShows) {
  for (const std::int64_t rank : {0, 1, 7}) EXPECT_EQ(devices_of_rank({device(0, 9, 0)}, rank, 8).front().number, 0);
  EXPECT_TRUE(devices_of_rank({}, 0, 8).empty());
  EXPECT_TRUE(devices_of_rank({device(0, 6, 1)}, 0, 8).empty());
}

TEST(DeviceLabel, IsTheNumberOnTheNode) {
  EXPECT_EQ(device_label(device(1, 9, 0), nullptr), "1");
  EXPECT_EQ(device_label(device(0, 9, 0), "3"), "3");
  EXPECT_EQ(device_label(device(1, 9, 0), "6,2,GPU-8932f937"), "2");
  EXPECT_EQ(device_label(device(2, 9, 0), "6,2,GPU-8932f937"), "GPU-8932f937");
  EXPECT_EQ(device_label(device(2, 9, 0), "6"), "2");
}

TEST(DeviceIdentity, DoesNotDependOnNumbers) {
  EXPECT_EQ(device_identity(device(1, 9, 0), nullptr), "GPU-of-number-1");
  EXPECT_EQ(device_identity(device(1, 9, 0), "6,2"), "GPU-of-number-1");
}

TEST(DeviceIdentity, TellsThePartsOfAGpuApart) {
  EXPECT_EQ(device_identity(device(0, 9, 0), "MIG-5d3c1a2b"), "MIG-5d3c1a2b");
}

TEST(NominalRate, FollowsTheFp64Units) {
  EXPECT_GT(nominal_rate(device(0, 9, 0)), nominal_rate(device(0, 8, 0)));
  EXPECT_GT(nominal_rate(device(0, 8, 0)), 10 * nominal_rate(device(0, 8, 6)));
  EXPECT_GT(nominal_rate(device(0, 7, 5)), 0.0);
}

}
}
