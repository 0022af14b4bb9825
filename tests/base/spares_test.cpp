#include "cxx/base/spares.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include "cxx/base/share_among_threads.hpp"

namespace trifuse {
namespace {

struct Counted {
  static inline std::atomic<int> made{0};
  Counted() { ++made; }
  std::vector<int> numbers;
};

TEST(SparesTest, AreUsedAgain) {
  Counted::made = 0;
  Spares<Counted> spares;
  spares.take()->numbers.resize(7);
  {
    const auto first = spares.take();
    EXPECT_EQ(first->numbers.size(), 7u);
    EXPECT_TRUE(spares.take()->numbers.empty()) << "the first one is in use";
  }
  EXPECT_EQ(Counted::made, 2);
}

TEST(SparesTest, AreNotMoreThanTheirLimit) {
  Counted::made = 0;
  Spares<Counted> spares(3);
  std::atomic<int> in_use{0}, most{0}, uses{0};
  on_new_threads(8, [&](std::size_t) {
    for (int n = 0; n < 100; ++n) {
      const auto use = spares.take();
      const int now = ++in_use;
      for (int before = most; before < now && !most.compare_exchange_weak(before, now);) continue;
      std::this_thread::yield();
      ++uses;
      --in_use;
    }
  });
  EXPECT_EQ(uses, 800);
  EXPECT_LE(most, 3);
  EXPECT_LE(Counted::made, 3);
}

struct Refused {
  Refused() { throw std::runtime_error("There is no memory."); }
};

TEST(SparesTest, PassOnTheFailureOfAnObject) {
  Spares<Refused> spares(1);
  for (int n = 0; n < 2; ++n) EXPECT_THROW(spares.take(), std::runtime_error);
}

}
}
