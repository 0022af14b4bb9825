#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <string>

#include "cxx/cuda/runtime/devices.hpp"
#include "tests/nwchem/symbols.hpp"

/// Begins as NWChem does, with the device that the environment names: cores or a GPU.
namespace trifuse::testing {
namespace {

class ChosenDevice : public ::testing::Environment {
 public:
  void SetUp() override {
    const char* wanted = std::getenv("TRIFUSE_NWCHEM_DEVICE");
    const bool cores = wanted != nullptr && std::string(wanted) == "cpu";
    if (!cores && visible_devices().empty()) {
      std::cout << "[  SKIPPED ] All tests: " << why_no_devices() << std::endl;  // words of GoogleTest
      GTEST_SKIP();
    }
    const Integer one = 1;
    Integer device = 30;
    device_init_(&one, &device);
    ASSERT_EQ(take_failure(), "");
    ASSERT_NE(device, 30) << "NWChem's sign of failure";
  }
};

const auto* const chosen = ::testing::AddGlobalTestEnvironment(new ChosenDevice);

}
}
