#include "cxx/cuda/schedule/device_leases.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "cxx/base/error.hpp"

namespace trifuse::gpu {
namespace {

using Demand = DeviceLeases::Demand;
using Lease = DeviceLeases::Lease;

constexpr auto a_while = std::chrono::milliseconds(150);

/// A GPU 0 and a GPU 1 with 100 bytes each.
class DeviceLeasesTest : public ::testing::Test {
 protected:
  DeviceLeasesTest() {
    for (const int device : {0, 1}) leases_.free_bytes(device, [] { return 100; });
  }

  Lease now(std::vector<Demand> demands) { return leases_.lease(std::move(demands), nullptr); }
  /// Asks for memory in another thread.
  std::future<Lease> later(std::vector<Demand> demands) {
    return std::async(std::launch::async,
                      [this, demands = std::move(demands)] { return leases_.lease(demands, nullptr); });
  }
  static bool waits(const std::future<Lease>& lease) { return lease.wait_for(a_while) == std::future_status::timeout; }

  DeviceLeases leases_;
};

TEST_F(DeviceLeasesTest, RunsThatFitTogetherDoNotWait) {
  std::optional<Lease> first = now({{0, 40}});
  const Lease second = now({{0, 60}}), other_device = now({{1, 100}});
  std::future<Lease> third = later({{0, 1}});
  EXPECT_TRUE(waits(third));
  first.reset();
  third.get();
}

TEST_F(DeviceLeasesTest, ALargeRunWaitsForAllOthersAndIsNotOvertaken) {
  std::optional<Lease> small = now({{0, 10}});
  std::future<Lease> large = later({{0, 1000}});
  EXPECT_TRUE(waits(large)) << "more than the memory: it gets the GPU to itself";
  std::future<Lease> next = later({{0, 10}});
  EXPECT_TRUE(waits(next)) << "it would fit, but the large run has asked before";
  small.reset();
  {
    const Lease got = large.get();
    EXPECT_TRUE(waits(next));
  }
  next.get();
}

TEST_F(DeviceLeasesTest, ARunGetsAllItsDevicesOrNone) {
  std::optional<Lease> on_second = now({{1, 90}});
  std::future<Lease> both = later({{0, 50}, {1, 50}});
  EXPECT_TRUE(waits(both));
  on_second.reset();
  both.get();
}

TEST_F(DeviceLeasesTest, TheMemoryOfAnIdleDeviceIsAskedForAgain) {
  EXPECT_EQ(leases_.free_bytes(0, [] { return 70; }), 70);
  {
    const Lease run = now({{0, 60}});
    EXPECT_EQ(leases_.free_bytes(0, [] { return 10; }), 70) << "as if the run were not there";
  }
  EXPECT_EQ(leases_.free_bytes(0, [] { return 80; }), 80);
}

TEST_F(DeviceLeasesTest, AStoppedRunDoesNotWaitAndBlocksNobody) {
  std::optional<Lease> all = now({{0, 100}});
  std::atomic<bool> stop = false;
  auto stopped = std::async(std::launch::async, [&] { return leases_.lease({{0, 100}}, &stop); });
  std::this_thread::sleep_for(a_while);
  std::future<Lease> next = later({{0, 100}});
  stop = true;
  EXPECT_THROW(stopped.get(), Interrupted);
  EXPECT_TRUE(waits(next));
  all.reset();
  next.get();
}

TEST_F(DeviceLeasesTest, MemoryThatTheOnlyRunKeepsIsNotPromisedToOthers) {
  const auto free = [&] { return leases_.free_bytes(0, [] { return 100; }); };
  std::optional<Lease> only = now({{0, 60}});
  EXPECT_TRUE(leases_.keep({0, 30}));
  EXPECT_EQ(free(), 70);
  std::optional<Lease> other = now({{0, 10}});
  EXPECT_FALSE(leases_.keep({0, 5})) << "the other run has planned with this memory";
  EXPECT_EQ(free(), 70);
  std::future<Lease> third = later({{0, 5}});
  EXPECT_TRUE(waits(third)) << "60 and 10 of 70 are leased";
  only.reset();
  third.get();
  other.reset();
  EXPECT_EQ(free(), 100) << "no run is left, so the GPU is asked";
}

TEST_F(DeviceLeasesTest, NoMemoryIsKeptWhileAnotherRunPlansWithIt) {
  const Lease only = now({{0, 60}});
  {
    const DeviceLeases::Planning another(leases_);
    EXPECT_FALSE(leases_.keep({0, 30}));
    EXPECT_EQ(leases_.free_bytes(0, [] { return 100; }), 100);
  }
  EXPECT_TRUE(leases_.keep({0, 30}));
}

TEST_F(DeviceLeasesTest, AMovedLeaseIsGivenBackOnce) {
  Lease first = now({{0, 100}});
  Lease second = std::move(first);
  first = Lease();
  std::future<Lease> next = later({{0, 100}});
  EXPECT_TRUE(waits(next));
  second = Lease();
  next.get();
  EXPECT_FALSE(waits(later({{0, 100}})));
}

}
}
