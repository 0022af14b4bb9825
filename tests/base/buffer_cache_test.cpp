#include "cxx/base/buffer_cache.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace trifuse::testing {
namespace {

constexpr std::size_t threads = 4, parts = 64;
constexpr std::int64_t size = 1000;  // doubles of a buffer
constexpr std::int64_t bytes = 8 * size;

/// All elements of buffer n are n.
void fill_with(std::int64_t n, std::span<double> values) {
  std::ranges::fill(values, static_cast<double>(n));
}

BufferCache::Use get(BufferCache& cache, std::int64_t n) {
  return cache.get(n, size, [n](std::span<double> values) { fill_with(n, values); });
}

bool right(const BufferCache::Use& use, std::int64_t n) {
  return std::all_of(use.data(), use.data() + size, [n](double x) { return x == static_cast<double>(n); });
}

template <typename Body>
void on_all_threads(Body body) {
  std::vector<std::thread> running;
  for (std::size_t n = 0; n < threads; ++n) running.emplace_back(body, n);
  for (std::thread& thread : running) thread.join();
}

/// Waits until all threads need the same buffer.
void wait_for_all(const BufferCache& cache, std::int64_t wanted = threads) {
  while (cache.traffic().wanted < wanted) std::this_thread::sleep_for(std::chrono::microseconds(100));
}

TEST(BufferCache, OneThreadFillsAndTheOthersWait) {
  BufferCache cache(bytes);
  std::atomic<int> fills = 0;
  std::array<bool, threads> is_right{};
  on_all_threads([&](std::size_t thread) {
    is_right[thread] = right(cache.get(7, size,
                                       [&](std::span<double> values) {
                                         wait_for_all(cache);
                                         ++fills;
                                         fill_with(7, values);
                                       }),
                             7);
  });
  EXPECT_EQ(fills, 1);
  EXPECT_EQ(is_right, (std::array{true, true, true, true}));
  EXPECT_EQ(cache.traffic().hits, threads - 1);
  EXPECT_EQ(cache.traffic().filled, 1);
  EXPECT_EQ(cache.traffic().filled_bytes, bytes);
}

TEST(BufferCache, ThreadsFillABufferTogether) {
  BufferCache cache(0);
  std::array<std::atomic<int>, parts> fills{};
  std::array<double, threads> sums{};
  on_all_threads([&](std::size_t thread) {
    const BufferCache::Use use = cache.get_together(0, parts, parts, [&](std::size_t part, std::span<double> values) {
      wait_for_all(cache);
      ++fills[part];
      values[part] = static_cast<double>(part);
    });
    for (std::size_t k = 0; k < parts; ++k) sums[thread] += use.data()[k];
  });
  for (const double sum : sums) EXPECT_EQ(sum, parts * (parts - 1) / 2.0);
  for (const std::atomic<int>& each : fills) EXPECT_EQ(each, 1);
}

TEST(BufferCache, AFailureReachesEveryThreadAndLeavesTheBufferAbsent) {
  BufferCache cache(2 * bytes);
  std::atomic<int> fills = 0, failures = 0;
  for (int round = 1; round <= 3; ++round) {
    on_all_threads([&](std::size_t) {
      try {
        cache.get(7, size, [&](std::span<double>) {
          wait_for_all(cache, round * static_cast<std::int64_t>(threads));
          ++fills;
          throw std::runtime_error("The file is gone.");
        });
      } catch (const std::runtime_error& error) {
        failures += error.what() == std::string("The file is gone.");
      }
    });
    EXPECT_EQ(fills, round);
    EXPECT_EQ(failures, round * static_cast<int>(threads));
    EXPECT_FALSE(cache.contains(7));
  }
  EXPECT_TRUE(right(get(cache, 7), 7));
  EXPECT_TRUE(right(get(cache, 8), 8));
  EXPECT_EQ(cache.traffic().filled, 2);
  EXPECT_EQ(cache.traffic().max_bytes, 2 * bytes);  // the failures use no memory
}

TEST(BufferCache, OfSeveralFailuresEveryThreadThrowsTheOneOfTheLowestPart) {
  BufferCache cache(0);
  std::array<std::string, threads> messages;
  std::atomic<std::size_t> begun = 0;
  on_all_threads([&](std::size_t thread) {
    try {
      cache.get_together(0, parts, parts, [&](std::size_t part, std::span<double>) {
        wait_for_all(cache);
        ++begun;
        if (part < 5) return;
        // Later parts fail earlier in time.
        std::this_thread::sleep_for(std::chrono::milliseconds(part == 5 ? 50 : 1));
        throw std::runtime_error(std::to_string(part));
      });
    } catch (const std::runtime_error& error) {
      messages[thread] = error.what();
    }
  });
  for (const std::string& message : messages) EXPECT_EQ(message, "5");
  EXPECT_LE(begun, 5 + threads);
}

TEST(BufferCache, EvictsTheLeastRecentlyUsedBufferThatIsNotInUse) {
  BufferCache cache(2 * bytes);
  const BufferCache::Use in_use = get(cache, 0);
  std::set<const double*> places;
  for (std::int64_t n = 1; n < 10; ++n) {
    const BufferCache::Use use = get(cache, n);
    EXPECT_TRUE(right(use, n));
    places.insert(use.data());
  }
  EXPECT_EQ(places.size(), 1u);  // new buffers take the memory of evicted ones
  EXPECT_TRUE(right(in_use, 0));
  EXPECT_TRUE(cache.contains(0));
  EXPECT_TRUE(cache.contains(9));
  EXPECT_FALSE(cache.contains(8));
  EXPECT_EQ(cache.traffic().max_bytes, 2 * bytes);
}

TEST(BufferCache, KeepsTheLeastNumberOfBuffersBeyondTheBudget) {
  BufferCache cache(0, 2);
  for (std::int64_t n = 0; n < 5; ++n) get(cache, n);
  EXPECT_FALSE(cache.contains(2));
  EXPECT_TRUE(cache.contains(3));
  EXPECT_TRUE(cache.contains(4));
  cache.keep_at_least(3);
  cache.keep_at_least(1);
  get(cache, 5);
  EXPECT_TRUE(cache.contains(3));
  get(cache, 6);
  EXPECT_FALSE(cache.contains(3));
  EXPECT_TRUE(cache.contains(4));
}

TEST(BufferCache, BuffersFilledAheadTakeHalfOfTheBudgetUntilTheyAreNeeded) {
  BufferCache cache(4 * bytes);
  const auto fill_ahead = [&](std::int64_t n) {
    cache.fill_ahead(n, size, [n](std::span<double> values) { fill_with(n, values); });
  };
  for (std::int64_t n = 0; n < 4; ++n) fill_ahead(n);
  EXPECT_TRUE(cache.contains(1));
  EXPECT_FALSE(cache.contains(2));
  EXPECT_TRUE(right(get(cache, 1), 1));
  fill_ahead(2);
  EXPECT_TRUE(cache.contains(2));
  EXPECT_THROW(
      {
        get(cache, 0);
        cache.fill_ahead(5, size, [](std::span<double>) { throw std::runtime_error("gone"); });
      },
      std::runtime_error);
  fill_ahead(5);
  EXPECT_TRUE(right(get(cache, 5), 5));
  EXPECT_EQ(cache.traffic().filled, 4);
}

/// Budgets from zero to the size of all buffers. Fills fail now and then.
TEST(BufferCache, IsRightForManyThreadsAtOnce) {
  for (const std::int64_t budget : {0, 5, 100}) {
    BufferCache cache(budget * bytes, 3);
    std::atomic<int> wrong = 0, tries = 0;
    on_all_threads([&](std::size_t thread) {
      std::mt19937 random(static_cast<unsigned>(thread));
      for (int round = 0; round < 1000; ++round) {
        const auto n = static_cast<std::int64_t>(random() % 12);
        try {
          const BufferCache::Use use = cache.get_together(n, size, 2, [&](std::size_t part, std::span<double> values) {
            if (part == 1 && ++tries % 10 == 0) throw std::runtime_error("Once in a while.");
            fill_with(n, values.subspan(part * size / 2, size / 2));
          });
          if (!right(use, n)) ++wrong;
        } catch (const std::runtime_error&) {
        }
      }
    });
    EXPECT_EQ(wrong, 0);
    EXPECT_LE(cache.traffic().max_bytes, std::max<std::int64_t>(budget, 3 + threads) * bytes);
  }
}

}
}
