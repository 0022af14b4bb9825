#include "cxx/prediction/panel_memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <random>

namespace trifuse::testing {
namespace {

/// The same rule, written plainly.
struct PlainMemory {
  double capacity, held = 0.0;
  std::list<std::pair<std::uint32_t, double>> panels;  ///< the one used last first
  bool use(std::uint32_t panel, double bytes) {
    const auto found = std::find_if(panels.begin(), panels.end(), [&](const auto& p) { return p.first == panel; });
    const bool there = found != panels.end();
    if (there) {
      panels.erase(found);
    } else {
      while (!panels.empty() && held + bytes > capacity) {
        held -= panels.back().second;
        panels.pop_back();
      }
      held += bytes;
    }
    panels.emplace_front(panel, bytes);
    return there;
  }
};

TEST(PanelMemory, KeepsWhatWasUsedLast) {
  std::mt19937 random(5);
  for (const double capacity : {1.0, 50.0, 400.0, 1e9}) {
    PanelMemory memory(capacity);
    PlainMemory plain{capacity, 0.0, {}};
    std::uniform_int_distribution<std::uint32_t> any(0, 300);
    for (int n = 0; n < 20000; ++n) {
      // Neighbours are asked for together, and some panels often.
      const std::uint32_t panel = n % 3 == 0 ? any(random) % 20 : any(random);
      const double bytes = 1.0 + panel % 7;
      ASSERT_EQ(memory.use(panel, bytes), plain.use(panel, bytes)) << "step " << n;
      ASSERT_EQ(memory.held(), plain.held);
    }
    EXPECT_EQ(memory.dropped() > 0, capacity < 1e9);
    EXPECT_LE(memory.max_held(), std::max(capacity, 7.0));
  }
}

}
}
