#include "cxx/operands/remote_panels.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "cxx/base/error.hpp"
#include "tests/support/refusals.hpp"

namespace trifuse::testing {
namespace {

constexpr std::int64_t size = 1000;                   // doubles of a panel
constexpr std::int64_t with_margin = (size + 8) * 8;  // bytes of a panel in the cache

/// Panel n begins at n * size. Its elements are their positions.
void count_up(std::int64_t at, std::span<double> values) {
  for (std::size_t n = 0; n < values.size(); ++n) values[n] = static_cast<double>(at) + static_cast<double>(n);
}

bool right(const PanelGuard& panel, std::int64_t at) {
  for (std::int64_t n = 0; n < size; ++n) {
    if (panel.data()[n] != static_cast<double>(at + n)) return false;
  }
  return true;
}

/// Waits until the background thread has prefetched.
template <typename Condition>
bool soon(Condition condition) {
  for (int n = 0; n < 5000 && !condition(); ++n) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return condition();
}

TEST(PanelGuard, NeedsNoCacheForAPanelThatStaysInPlace) {
  const double number = 1.0;
  PanelGuard guard(&number);
  const PanelGuard other = std::move(guard);
  EXPECT_EQ(other.data(), &number);
  EXPECT_EQ(PanelGuard().data(), nullptr);
}

TEST(RemotePanels, AreFetchedOnceWhereThereIsRoom) {
  RemotePanels panels(count_up, 10 * with_margin);
  for (int repeat = 0; repeat < 3; ++repeat) {
    for (std::int64_t n = 0; n < 10; ++n) EXPECT_TRUE(right(panels.acquire(n * size, size), n * size));
  }
  const PanelTraffic traffic = panels.traffic();
  EXPECT_EQ(traffic.wanted, 30);
  EXPECT_EQ(traffic.hits, 20);
  EXPECT_EQ(traffic.filled, 10);
  EXPECT_EQ(traffic.filled_bytes, 10 * size * 8);
  EXPECT_EQ(traffic.max_bytes, 10 * with_margin);
}

TEST(RemotePanels, UsedLongestAgoAreEvicted) {
  RemotePanels panels(count_up, 2 * with_margin);
  for (const std::int64_t n : {0, 1, 0, 2, 0, 1}) EXPECT_TRUE(right(panels.acquire(n * size, size), n * size));
  EXPECT_EQ(panels.traffic().filled, 4);  // 0, 1, 2 in the place of 1, 1 again
  EXPECT_EQ(panels.traffic().max_bytes, 2 * with_margin);
}

TEST(RemotePanels, ReuseTheMemoryOfEvictedPanelsWithinTheBudget) {
  RemotePanels panels(count_up, 3 * with_margin);
  std::set<const double*> places;
  for (std::int64_t n = 0; n < 20; ++n) {
    const PanelGuard guard = panels.acquire(n * size, size);
    EXPECT_EQ(guard.data()[size - 1], static_cast<double>(n * size + size - 1));
    EXPECT_EQ(guard.data()[size], 0.0);
    places.insert(guard.data());
  }
  EXPECT_EQ(places.size(), 3u);
  EXPECT_TRUE(places.contains(panels.acquire(100 * size, size - size / 3).data()));
  EXPECT_LE(panels.traffic().max_bytes, 3 * with_margin);
}

TEST(RemotePanels, InUseAreNotEvictedAndMayExceedTheBudget) {
  RemotePanels panels(count_up, with_margin);
  {
    std::vector<PanelGuard> guards;
    for (std::int64_t n = 0; n < 4; ++n) guards.push_back(panels.acquire(n * size, size));
    for (std::int64_t n = 0; n < 4; ++n) EXPECT_TRUE(right(guards[static_cast<std::size_t>(n)], n * size));
    EXPECT_EQ(panels.traffic().max_bytes, 4 * with_margin);
  }
  // All panels except the last released one have been evicted.
  for (std::int64_t n = 0; n < 4; ++n) EXPECT_TRUE(right(panels.acquire(n * size, size), n * size));
  EXPECT_EQ(panels.traffic().filled, 8 - panels.traffic().hits);
  EXPECT_LE(panels.traffic().hits, 1);
}

TEST(RemotePanels, LargerThanTheBudgetAreServed) {
  RemotePanels panels(count_up, 0);
  EXPECT_TRUE(right(panels.acquire(0, size), 0));
  EXPECT_TRUE(right(panels.acquire(0, size), 0));
  EXPECT_EQ(panels.traffic().filled, 2);
}

TEST(RemotePanels, MayBeReadInFullVectorsBeyondTheirEnd) {
  RemotePanels panels(count_up, with_margin);
  const PanelGuard panel = panels.acquire(0, size - 3);
  for (std::int64_t n = size - 3; n < size + 5; ++n) EXPECT_EQ(panel.data()[n], 0.0);
}

TEST(RemotePanels, ArePrefetchedOnRequest) {
  RemotePanels panels(count_up, 20 * with_margin);
  for (std::int64_t n = 0; n < 10; ++n) panels.prefetch(n * size, size);
  ASSERT_TRUE(soon([&] { return panels.traffic().filled == 10; }));
  EXPECT_EQ(panels.traffic().wanted, 0);
  for (std::int64_t n = 0; n < 10; ++n) {
    panels.prefetch(n * size, size);  // already in the cache
    EXPECT_TRUE(right(panels.acquire(n * size, size), n * size));
  }
  EXPECT_EQ(panels.traffic().hits, 10);
  EXPECT_EQ(panels.traffic().filled, 10);
}

TEST(RemotePanels, ArePrefetchedIntoHalfOfTheCacheOnly) {
  RemotePanels panels(count_up, 8 * with_margin);
  for (std::int64_t n = 0; n < 8; ++n) panels.prefetch(n * size, size);
  ASSERT_TRUE(soon([&] { return panels.traffic().filled == 4; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(panels.traffic().filled, 4);
  for (std::int64_t n = 0; n < 8; ++n) EXPECT_TRUE(right(panels.acquire(n * size, size), n * size));
  EXPECT_EQ(panels.traffic().filled, 8);
  // Prefetched panels do not replace panels in use.
  const PanelGuard in_use = panels.acquire(0, size);
  for (std::int64_t n = 10; n < 14; ++n) panels.prefetch(n * size, size);
  ASSERT_TRUE(soon([&] { return panels.traffic().filled == 12; }));
  EXPECT_TRUE(right(in_use, 0));
  EXPECT_EQ(panels.traffic().max_bytes, 8 * with_margin);
}

TEST(RemotePanels, AFailureReachesOnlyTheCallersOfThePanel) {
  std::atomic<bool> broken{true};
  RemotePanels panels(
      [&](std::int64_t at, std::span<double> values) {
        if (broken) throw SystemError("The network is gone.");
        count_up(at, values);
      },
      10 * with_margin);
  panels.prefetch(size, size);
  expect_failure<SystemError>([&] { static_cast<void>(panels.acquire(0, size)); }, "The network is gone.");
  expect_failure<SystemError>([&] { static_cast<void>(panels.acquire(size, size)); }, "The network is gone.");
  broken = false;
  EXPECT_TRUE(right(panels.acquire(0, size), 0));
  EXPECT_TRUE(right(panels.acquire(size, size), size));
}

/// Budgets from zero to the size of all panels, with more threads than panels that fit.
class RemotePanelsUnderLoad : public ::testing::TestWithParam<std::int64_t> {};
INSTANTIATE_TEST_SUITE_P(Budget, RemotePanelsUnderLoad, ::testing::Values(0, 3, 12, 100));

TEST_P(RemotePanelsUnderLoad, AreRightForAllThreads) {
  constexpr std::int64_t panels_there = 40;
  constexpr int threads = 8, rounds = 400;
  std::atomic<int> fetching{0}, together{0}, wrong{0}, failed{0}, seen{0};
  RemotePanels panels(
      [&](std::int64_t at, std::span<double> values) {
        if (fetching++ != 0) ++together;
        count_up(at, values);
        --fetching;
        if (at == 7 * size && seen++ % 3 == 0) throw SystemError("Once in a while.");
      },
      GetParam() * with_margin);
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t) {
    all.emplace_back([&, t] {
      std::mt19937 random(static_cast<unsigned>(t));
      for (int round = 0; round < rounds; ++round) {
        std::vector<PanelGuard> guards;
        std::vector<std::int64_t> places;
        for (int n = 0; n < 4; ++n) {
          panels.prefetch(random() % panels_there * size, size);
          places.push_back(random() % panels_there * size);
          try {
            guards.push_back(panels.acquire(places.back(), size));
          } catch (const SystemError&) {
            ++failed;
            places.pop_back();
          }
        }
        for (std::size_t n = 0; n < guards.size(); ++n) wrong += right(guards[n], places[n]) ? 0 : 1;
      }
    });
  }
  for (std::thread& thread : all) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(together, 0);
  const PanelTraffic traffic = panels.traffic();
  EXPECT_EQ(traffic.wanted, 4 * threads * rounds);
  EXPECT_LE(traffic.max_bytes, std::max<std::int64_t>(GetParam(), 1 + 4 * threads) * with_margin);
}

}
}
