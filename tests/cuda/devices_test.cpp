#include "cxx/cuda/devices.hpp"

#include <gtest/gtest.h>

#include "trifuse_config.hpp"

namespace trifuse {
namespace {

TEST(Devices, AreListedOrTheirAbsenceIsExplained) {
  const std::vector<DeviceInfo> devices = visible_devices();
  const std::string reason = why_no_devices();
  EXPECT_EQ(devices.empty(), !reason.empty());
  if (devices.empty()) {
    EXPECT_EQ(reason.back(), '.') << reason;
  }
  for (std::size_t d = 0; d < devices.size(); ++d) {
    EXPECT_EQ(devices[d].number, static_cast<int>(d));
    EXPECT_FALSE(devices[d].name.empty());
    EXPECT_GE(devices[d].major, 5);
    EXPECT_GT(devices[d].free_memory, 0);
    EXPECT_LE(devices[d].free_memory, devices[d].total_memory);
  }
}

TEST(Devices, NeedABuildWithCuda) {
  if (!has_cuda) {
    EXPECT_TRUE(visible_devices().empty());
    EXPECT_EQ(why_no_devices(), "This Trifuse was built without CUDA.");
  }
}

}  // namespace
}  // namespace trifuse
