#include "cxx/parallel/caller_thread.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "cxx/base/error.hpp"
#include "tests/support/no_more_threads.hpp"
#include "tests/support/refusals.hpp"

namespace trifuse::testing {
namespace {

TEST(CallerThread, ExecutesTheCallsOfAllThreadsOnItself) {
  const std::thread::id here = std::this_thread::get_id();
  CallerThread caller;
  std::vector<int> order;  // needs no lock, because only one thread uses it
  caller.serve([&] {
    EXPECT_NE(std::this_thread::get_id(), here);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (int n = 0; n < 100; ++n) {
          const int doubled = caller.call([&, n] {
            EXPECT_EQ(std::this_thread::get_id(), here);
            order.push_back(t);
            return 2 * n;
          });
          EXPECT_EQ(doubled, 2 * n);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  });
  EXPECT_EQ(order.size(), 400u);
  EXPECT_EQ(std::set<int>(order.begin(), order.end()).size(), 4u);
}

TEST(CallerThread, PassesOnWhatACallThrows) {
  CallerThread caller;
  caller.serve([&] {
    expect_failure<InputError>([&] { caller.call([] { throw InputError("No such block."); }); }, "No such block");
    EXPECT_EQ(caller.call([] { return std::string("still there"); }), "still there");
  });
}

TEST(CallerThread, PassesOnWhatItsBodyThrows) {
  CallerThread caller;
  expect_failure<SystemError>([&] { caller.serve([] { throw SystemError("No memory."); }); }, "No memory");
  int served = 0;
  caller.serve([&] { caller.call([&] { ++served; }); });
  EXPECT_EQ(served, 1);
}

TEST(CallerThread, RunsItsBodyItselfIfNoThreadCanBeStarted) {
  const std::thread::id here = std::this_thread::get_id();
  CallerThread caller;
  std::optional<NoMoreThreads> limit(std::in_place);
  bool ran = false;
  caller.serve([&] {
    EXPECT_EQ(std::this_thread::get_id(), here);
    EXPECT_EQ(caller.call([] { return 7; }), 7);
    limit.reset();
    std::thread late([&] { expect_failure<SystemError>([&] { caller.call([] {}); }, "another thread"); });
    late.join();
    ran = true;
  });
  EXPECT_TRUE(ran);
  // The next run has a thread again.
  caller.serve([&] { EXPECT_NE(std::this_thread::get_id(), here); });
  limit.emplace();
  expect_failure<InputError>([&] { caller.serve([] { throw InputError("No such file."); }); }, "No such file");
}

TEST(CallerThread, IsBusyWhileNobodyCalls) {
  const std::thread::id here = std::this_thread::get_id();
  CallerThread caller;
  int idle = 0, served = 0;
  std::atomic<bool> enough{false};
  const auto body = [&] {
    while (!enough) std::this_thread::yield();
    caller.call([&] { ++served; });
  };
  caller.serve(body, [&] {
    EXPECT_EQ(std::this_thread::get_id(), here);
    enough = ++idle >= 3;
  });
  EXPECT_GE(idle, 3);
  EXPECT_EQ(served, 1);
}

TEST(CallerThread, CallsItselfAtOnce) {
  CallerThread caller;
  int depth = 0;
  caller.serve([&] { caller.call([&] { caller.call([&] { depth = 2; }); }); });
  EXPECT_EQ(depth, 2);
}

TEST(CallerThread, RefusesCallsWhenItDoesNotServe) {
  CallerThread caller;
  expect_failure<Error>([&] { caller.call([] {}); }, "does not process calls");
}

}
}
