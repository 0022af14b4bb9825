#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include "cxx/plan/task_sums.hpp"

namespace trifuse {
namespace {

TEST(TaskSums, RoundEachValueOnceToTheNearestMultiple) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> mantissa(-1.0, 1.0);
  std::uniform_int_distribution<int> exponent(-70, 10);
  for (const double unit : {0x1p-52, 0x1p-58, 0x1p-40}) {
    constexpr std::size_t count = 1003;
    std::vector<double> values(count);
    std::vector<std::int64_t> expected(count);
    for (std::size_t n = 0; n < count; ++n) {
      values[n] = std::ldexp(mantissa(random), exponent(random)) * (unit / 0x1p-52);
      expected[n] = std::llrint(values[n] / unit);
    }
    const std::vector<SummedArray> arrays = {{"unused", 3, 1.0}, {"array", 9000, unit}};
    TaskSums sums(arrays);
    // The elements lie on both sides of the border between two locks.
    constexpr std::size_t first = 4000;
    sums.add(1, first, values);
    const std::vector<ZeroedVector<std::int64_t>> found = sums.take();
    EXPECT_EQ(found[0], ZeroedVector<std::int64_t>(3));
    EXPECT_EQ(std::vector<std::int64_t>(found[1].begin() + first, found[1].begin() + first + count), expected);
    EXPECT_EQ(found[1][first - 1], 0);
    EXPECT_EQ(found[1][first + count], 0);
  }
}

TEST(TaskSums, KeepTheirNumbersWhenTheirMemoryIsFetched) {
  const std::vector<SummedArray> arrays = {{"small", 7, 1.0}, {"large", (std::size_t{1} << 20) + 5000, 0.5}};
  TaskSums sums(arrays);
  const std::vector<std::int64_t> numbers = {3, -4, 5};
  for (const std::size_t first : {std::size_t{0}, std::size_t{1} << 20}) sums.add_integers(1, first, numbers);
  for (const bool stopped : {true, false}) sums.fetch_memory(std::atomic<bool>(stopped));
  const std::vector<ZeroedVector<std::int64_t>> found = sums.take();
  EXPECT_EQ(found[0], ZeroedVector<std::int64_t>(7));
  EXPECT_EQ(std::accumulate(found[1].begin(), found[1].end(), std::int64_t{0}), 8);
  EXPECT_EQ(found[1][(std::size_t{1} << 20) + 1], -4);
}

TEST(TaskSums, LoseNothingWhenThreadsAddAtTheSameTime) {
  const std::vector<SummedArray> arrays = {{"array", 5000, 0.5}};
  TaskSums sums(arrays);
  constexpr int threads = 3, rounds = 200;
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back([&] {
      const std::vector<double> values(5000, 1.0);
      const std::vector<std::int64_t> integers(10, 1);
      for (int round = 0; round < rounds; ++round) {
        sums.add(0, 0, values);
        sums.add_integers(0, 4090, integers);
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
  const ZeroedVector<std::int64_t> found = sums.take().front();
  EXPECT_EQ(found[0], 2 * threads * rounds);
  EXPECT_EQ(found[4095], 3 * threads * rounds);
}

}
}
