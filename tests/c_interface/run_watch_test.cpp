#include "fortran_iface/run_watch.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "tests/support/no_more_threads.hpp"

namespace trifuse::c_interface {
namespace {

using testing::NoMoreThreads;

/// A progress function: records the numbers of operations, and cancels the run after two of them.
int record(void* context, double done, double) {
  static_cast<std::vector<double>*>(context)->push_back(done);
  return done >= 2.0 ? 1 : 0;
}

RunProgress progress_of(double operations) {
  RunProgress progress{};
  progress.operations_done = operations;
  progress.operations = 4.0;
  return progress;
}

TEST(RunWatch, CallsItsFunctionWhenTasksEndIfNoThreadCanBeStarted) {
  std::vector<double> calls;
  std::optional<NoMoreThreads> limit(std::in_place);
  RunWatch watch(record, &calls);
  limit.reset();
  std::this_thread::sleep_for(std::chrono::milliseconds(250));
  EXPECT_EQ(calls, std::vector<double>{0.0});
  watch.update(progress_of(1.0));
  EXPECT_FALSE(*watch.stop());
  watch.update(progress_of(2.0));
  EXPECT_TRUE(*watch.stop());
  watch.finish();
  EXPECT_EQ(calls, (std::vector<double>{0.0, 1.0, 2.0, 2.0}));
}

TEST(RunWatch, CancelsTheRunIfItsFunctionThrows) {
  std::atomic<int> calls = 0;
  const auto fail = [](void* context, double, double) -> std::int32_t {
    if (++*static_cast<std::atomic<int>*>(context) > 1) throw std::runtime_error("The window was closed.");
    return 0;
  };
  RunWatch watch(fail, &calls);
  for (int n = 0; n < 10000 && !*watch.stop(); ++n) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_TRUE(*watch.stop());
  EXPECT_THROW(watch.rethrow_failure(), std::runtime_error);
  EXPECT_THROW(watch.finish(), std::runtime_error);
  EXPECT_EQ(calls, 2);
}

TEST(RunWatch, CallsNothingIfNobodyFollowsTheRun) {
  const NoMoreThreads limit;
  RunWatch watch(nullptr, nullptr);
  watch.update(progress_of(1.0));
  watch.finish();
  EXPECT_EQ(watch.stop(), nullptr);
}

}
}
