#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "cxx/cuda/runtime/devices.hpp"
#include "tests/nwchem/symbols_test_support.hpp"
#include "tests/support/broken_device.hpp"

/// The symbols with a GPU that has too little memory, and with a GPU that fails.
namespace trifuse::testing {
namespace {

class GpuTroubles : public SymbolsTest {
 protected:
  void SetUp() override {
    const char* device = std::getenv("TRIFUSE_NWCHEM_DEVICE");
    if (device != nullptr && std::string(device) == "cpu") GTEST_SKIP() << "cores are to compute";
  }
  /// Initialises the symbols again. Returns the chosen GPU.
  static Integer begin_anew() {
    const Integer one = 1;
    Integer device = 0;
    device_init_(&one, &device);
    return device;
  }
};

/// Executes a task whose operands alone take 160 MB, then a small task. Returns the printed text.
std::string execute_large_and_small_task() {
  ::testing::internal::CaptureStdout();
  {
    TaskOfBoth large({4, 40, 41}, {2, 2, 3});
    for (const std::size_t k : {0, 4, 8}) {
      large.call(singles, k);
      large.call(doubles2, k, k == 0 ? 4096 : 30);
      large.call(doubles1, k, 10);
    }
    large.expect_same_energies(0.5);
  }
  {
    TaskOfBoth small({3, 5, 2}, {2, 4, 3});
    small.call(doubles1, 2, 6);
    small.expect_same_energies();
  }
  return ::testing::internal::GetCapturedStdout();
}

int count(const std::string& text, const std::string& part) {
  int found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

const std::string in_pieces = "The GPU computes such tasks in parts", by_a_core = "A CPU core computes such tasks";

/// Limits the memory of the GPU by TRIFUSE_MEMORY. Removes the limit after each test.
class LittleGpuMemory : public GpuTroubles {
 protected:
  void TearDown() override {
    unsetenv("TRIFUSE_MEMORY");
    if (!IsSkipped()) begin_anew();
    GpuTroubles::TearDown();
  }
  static Integer begin_with(const char* memory) {
    setenv("TRIFUSE_MEMORY", memory, 1);
    return begin_anew();
  }
};

TEST_F(LittleGpuMemory, DividesLargeTasks) {
  begin_with("2GiB");
  EXPECT_EQ(execute_large_and_small_task(), "") << "it fits";
  for (const char* memory : {"96MiB", "200MiB"}) {
    SCOPED_TRACE(memory);
    ASSERT_NE(begin_with(memory), 30) << take_failure();
    const std::string printed = execute_large_and_small_task();
    std::fputs(printed.c_str(), stdout);
    EXPECT_EQ(count(printed, "WARNING"), 1);
    EXPECT_EQ(count(printed, in_pieces), 1);
    EXPECT_NE(printed.find("MiB are left; allow more memory"), std::string::npos);
    EXPECT_EQ(execute_large_and_small_task(), "") << "a rank warns once";
  }
}

TEST_F(LittleGpuMemory, LeavesATaskToACoreIfNoRegionFits) {
  ASSERT_NE(begin_with("96MiB"), 30) << take_failure();
  // Two operands of 64 MiB that cannot be divided.
  const auto long_task = [] {
    TaskOfBoth task({2, 2, 2}, {2, 2, 2});
    task.call(doubles1, 3, Integer{1} << 20);
    task.expect_same_energies();
  };
  ::testing::internal::CaptureStdout();
  long_task();
  long_task();
  const std::string printed = ::testing::internal::GetCapturedStdout();
  std::fputs(printed.c_str(), stdout);
  EXPECT_EQ(count(printed, "WARNING"), 2);
  EXPECT_EQ(count(printed, in_pieces), 1);
  EXPECT_EQ(count(printed, by_a_core), 1);
  TaskOfBoth small({3, 5, 2}, {2, 4, 3});
  small.call(doubles1, 2, 6);
  small.expect_same_energies();
}

TEST_F(LittleGpuMemory, IsRefusedIfNothingFits) {
  EXPECT_EQ(begin_with("1MiB"), 30) << "NWChem's sign of failure";
  expect_failure("of the allowed 1.0 MiB are left");
}

// Others have allocated memory of the GPU. Here this process does it.
TEST_F(LittleGpuMemory, MayBeTheMemoryThatOthersLeave) {
  const Integer device = begin_anew();
  ASSERT_NE(device, 30) << take_failure();
  const auto number = static_cast<int>(device);
  const DeviceMemory taken(number, free_device_memory(number) - (std::int64_t{200} << 20));
  ASSERT_TRUE(taken);
  const std::string printed = execute_large_and_small_task();
  std::fputs(printed.c_str(), stdout);
  EXPECT_EQ(count(printed, "WARNING"), 1);
  EXPECT_EQ(count(printed, in_pieces), 1);
  EXPECT_NE(printed.find("are free; give a smaller tile size"), std::string::npos);
}

/// The moment at which a GPU fails.
enum class Moment { after_recording, in_dev_mem, after_a_good_task };

/// Makes the calls of a task while the GPU fails, prints the messages to the host program, and ends the process. The
/// exit status is 0 if the host program got a message and no energy.
[[noreturn]] void compute_with_failing_gpu(Moment moment) {
  class Host : public SymbolsTest {
   public:
    void TestBody() override {}
    static void call() {
      sd_t_d1_2_cuda_(&two, &two, &two, &two, &two, &two, &two, nullptr, numbers.data(), numbers.data());
    }
    static void begin_task() { begin(two); }
    static void begin_task_and(const std::function<void()>& between) {
      dev_mem_s_(&two, &two, &two, &two, &two, &two);
      between();
      dev_mem_d_(&two, &two, &two, &two, &two, &two);
    }
    static void expect_none() { expect_no_energy(two); }
  };
  const auto good_task = [] {
    TaskOfBoth task({3, 5, 2}, {2, 4, 3});
    task.call(doubles1, 2, 6);
    task.expect_same_energies();
  };
  const Integer one = 1;
  Integer device = 30;
  device_init_(&one, &device);
  int code = -2;
  const auto lose_gpu = [&] { code = break_device(static_cast<int>(device)); };
  if (moment == Moment::after_recording) {
    Host::begin_task();
    Host::call();
    lose_gpu();
  } else if (moment == Moment::in_dev_mem) {
    Host::begin_task_and(lose_gpu);
    Host::call();
  } else {
    good_task();
    lose_gpu();
    Host::begin_task();
    Host::call();
  }
  // Host programs end at the first failure. A host program that continues gets the same message again.
  Host::expect_none();
  const std::string first = take_failure();
  Host::begin_task();
  const std::string second = take_failure();
  Host::call();
  Host::expect_none();
  const std::string third = take_failure();
  const bool good = code == 0 && !::testing::Test::HasFailure() && first == second && first == third;
  std::fprintf(stderr, "trap %d, heard: %s\n", code, first.c_str());
  if (first != second || first != third) std::fprintf(stderr, "then: %s\n%s\n", second.c_str(), third.c_str());
  std::exit(good ? 0 : 1);
}

/// Each test runs in its own process, because the process loses its GPU.
class FailingGpu : public GpuTroubles, public ::testing::WithParamInterface<Moment> {};

TEST_P(FailingGpu, EndsTheHostProgramWithASentence) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(compute_with_failing_gpu(GetParam()), ::testing::ExitedWithCode(0),
              "trap 0, heard: Trifuse: GPU .* of rank 0 of .* failed, and the operands that NWChem had sent to it "
              "are lost; run again without this GPU .*CUDA refused a call");
}

INSTANTIATE_TEST_SUITE_P(Every, FailingGpu,
                         ::testing::Values(Moment::after_recording, Moment::in_dev_mem, Moment::after_a_good_task));

}
}
