#include "cxx/base/share_among_threads.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>

namespace trifuse::testing {
namespace {

constexpr std::size_t count = 1000;
constexpr int thread_count = 4;

/// Returns the message of the std::runtime_error that `run` throws; an empty one if it throws none.
template <typename Run>
std::string failure_of(Run run) {
  try {
    run();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return {};
}

/// Throws an exception with its number if the number is 300 or more.
void fail_late(std::size_t n) {
  if (n >= 300) throw std::runtime_error(std::to_string(n));
}

struct Calls {
  std::vector<std::size_t> numbers;
};

TEST(SharedLoops, MakeEachCallOnce) {
  std::vector<int> dynamic(count), in_turns(count), on_each(thread_count), on_new(thread_count);
  share_among_threads<Calls>(count, thread_count, [&](std::size_t n, Calls& calls) {
    ++dynamic[n];
    // The numbers that one thread gets ascend.
    EXPECT_TRUE(calls.numbers.empty() || calls.numbers.back() < n);
    calls.numbers.push_back(n);
  });
  share_in_turns(count, thread_count, [&](std::size_t n) { ++in_turns[n]; });
  on_threads(thread_count, [&](std::size_t thread) { ++on_each[thread]; });
  on_new_threads(thread_count, [&](std::size_t n) { ++on_new[n]; });
  EXPECT_EQ(dynamic, std::vector<int>(count, 1));
  EXPECT_EQ(in_turns, std::vector<int>(count, 1));
  EXPECT_EQ(on_each, std::vector<int>(thread_count, 1));
  EXPECT_EQ(on_new, std::vector<int>(thread_count, 1));
  share_among_threads<Calls>(0, thread_count, [](std::size_t, Calls&) { FAIL(); });
  share_in_turns(0, thread_count, [](std::size_t) { FAIL(); });
}

TEST(SharedLoops, GiveTheSameCallsToTheSameThread) {
  std::vector<std::thread::id> by(count);
  share_in_turns(count, thread_count, [&](std::size_t n) { by[n] = std::this_thread::get_id(); });
  for (std::size_t n = thread_count; n < count; ++n) ASSERT_EQ(by[n], by[n - thread_count]);
  EXPECT_EQ(std::set<std::thread::id>(by.begin(), by.end()).size(), std::size_t{thread_count});
}

TEST(SharedLoops, ThrowWhatOneThreadWouldThrow) {
  for (const int used : {1, thread_count}) {
    std::atomic<std::size_t> begun{0};
    EXPECT_EQ(failure_of([&] {
                share_among_threads<Calls>(count, used, [&](std::size_t n, Calls&) {
                  ++begun;
                  fail_late(n);
                });
              }),
              "300");
    EXPECT_GT(begun, 300u);
    EXPECT_LE(begun, 300u + static_cast<std::size_t>(used)) << "calls began after a failure";
    EXPECT_EQ(failure_of([&] { share_in_turns(count, used, fail_late); }), "300");
  }
  const auto fail = [](std::size_t n) {
    if (n != 0) throw std::runtime_error(std::to_string(n));
  };
  EXPECT_EQ(failure_of([&] { on_threads(thread_count, fail); }), "1");
  EXPECT_EQ(failure_of([&] { on_new_threads(thread_count, fail); }), "1");
}

TEST(SharedLoops, TakeTurnsInAscendingOrder) {
  std::vector<std::size_t> order;
  std::atomic<int> done{0};
  share_with_lock<Calls>(count, thread_count, true, [&](std::size_t n, Calls&, std::unique_lock<std::mutex>& lock) {
    order.push_back(n);
    if (n % 2 == 0) lock.unlock();
    ++done;
  });
  std::vector<std::size_t> ascending(count);
  std::iota(ascending.begin(), ascending.end(), std::size_t{0});
  EXPECT_EQ(order, ascending);
  EXPECT_EQ(done, static_cast<int>(count));
  // If a call fails in its turn, the calls that have begun still end.
  EXPECT_EQ(failure_of([&] {
              share_with_lock<Calls>(count, thread_count, true,
                                     [&](std::size_t n, Calls&, std::unique_lock<std::mutex>&) { fail_late(n); });
            }),
            "300");
}

TEST(SharedLoops, StartThreadsInsideAParallelRegionOnlyIfNew) {
  std::vector<std::thread::id> by(thread_count), by_new(thread_count);
  on_threads(2, [&](std::size_t outer) {
    if (outer != 0) return;
    share_in_turns(thread_count, thread_count, [&](std::size_t n) { by[n] = std::this_thread::get_id(); });
    on_new_threads(thread_count, [&](std::size_t n) { by_new[n] = std::this_thread::get_id(); });
  });
  EXPECT_EQ(by, std::vector<std::thread::id>(thread_count, by.front()));
  EXPECT_EQ(std::set<std::thread::id>(by_new.begin(), by_new.end()).size(), std::size_t{thread_count});
}

}
}
