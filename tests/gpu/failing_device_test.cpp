#include <dlfcn.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "cxx/calculation.hpp"
#include "tests/gpu/gpu_test_support.hpp"
#include "tests/support/calculations.hpp"

/// A GPU that really fails in the middle of a run.
namespace trifuse::testing {
namespace {

/// A function of the CUDA driver, which this program is not linked with.
template <typename Function>
Function* driver_function(const char* name) {
  static void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
  return driver == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(driver, name));
}

/// Starts a kernel that ends with a trap in the context that the CUDA runtime has on device 0: from then on the device
/// refuses everything that this process asks of it. Returns the driver's code, 0 if the kernel was started.
int break_device() {
  constexpr const char* trap = R"(.version 6.4
.target sm_70
.address_size 64
.visible .entry give_up() { trap; ret; }
)";
  const auto retain = driver_function<int(void**, int)>("cuDevicePrimaryCtxRetain");
  const auto enter = driver_function<int(void*)>("cuCtxSetCurrent");
  const auto load = driver_function<int(void**, const void*)>("cuModuleLoadData");
  const auto find = driver_function<int(void**, void*, const char*)>("cuModuleGetFunction");
  const auto launch = driver_function<int(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                          void*, void**, void**)>("cuLaunchKernel");
  if (retain == nullptr || enter == nullptr || load == nullptr || find == nullptr || launch == nullptr) return -1;
  void *context = nullptr, *module = nullptr, *kernel = nullptr;
  for (const int code : {retain(&context, 0), enter(context), load(&module, trap), find(&kernel, module, "give_up"),
                         launch(kernel, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr)}) {
    if (code != 0) return code;
  }
  return 0;
}

/// Computes with a GPU that fails after the first task, and leaves the process; 0 if all went as it should.
[[noreturn]] void compute_with_failing_device() {
  const auto source = make_synthetic_source(closed_shell(14, 90));
  CalculationOptions options;
  options.executor = ExecutorKind::cuda;
  options.devices = {0};
  options.devices_required = true;  // which speaks of the beginning only
  const Calculation calculation(*source, nullptr, options);
  std::atomic<int> code{-2};
  int warnings = 0;
  const CalculationResult found = calculation.run(
      nullptr,
      [&](const RunProgress&) {
        if (code == -2) code = break_device();
      },
      [&](const std::string& warning) {
        std::fprintf(stderr, "%s\n", warning.c_str());
        ++warnings;
      });
  options = {};
  options.plan_for = ExecutorKind::cuda;
  const double difference = relative_difference(numbers_of(found), numbers_of(calculate(*source, options)));
  std::fprintf(stderr, "trap %d, %d warnings, difference %.2e\n", code.load(), warnings, difference);
  const bool good = code == 0 && warnings == 1 && found.warnings.size() == 1 && found.ranks.at(0).device_failed &&
                    difference <= 1e-12;
  std::exit(good ? 0 : 1);
}

class FailingDevice : public OnGpu {};

// In a process of its own, whose GPU is lost to it.
TEST_F(FailingDevice, LeavesTheRestOfARunToCores) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(compute_with_failing_device(), ::testing::ExitedWithCode(0), "trap 0, 1 warnings");
}

}  // namespace
}  // namespace trifuse::testing
