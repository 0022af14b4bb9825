#include "cxx/cuda/runtime/devices.hpp"

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
    EXPECT_EQ(devices[d].uuid.size(), std::string("GPU-8932f937-d72c-4106-c12f-20bd9faed9f6").size());
    EXPECT_TRUE(devices[d].uuid.starts_with("GPU-")) << devices[d].uuid;
    const std::int64_t free = free_device_memory(devices[d].number);
    EXPECT_GT(free, 0);
    EXPECT_LE(free, devices[d].total_memory);
  }
  EXPECT_EQ(visible_device_count(), static_cast<int>(devices.size()));
  if (devices.size() > 1) {
    EXPECT_NE(devices[0].uuid, devices[1].uuid);
  }
}

TEST(Devices, NeedABuildWithCuda) {
  if (!has_cuda) {
    EXPECT_TRUE(visible_devices().empty());
    EXPECT_EQ(why_no_devices(), "This Trifuse was built without CUDA.");
  }
}

}
}
