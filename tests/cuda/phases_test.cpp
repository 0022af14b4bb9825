#include "cxx/cuda/schedule/phases.hpp"

#include <gtest/gtest.h>

#include <set>
#include <utility>

namespace trifuse::gpu {
namespace {

TEST(PhaseOrder, HoldsEveryPairOfAxesOnce) {
  std::set<std::pair<int, int>> seen;
  for (const PhaseAxes& axes : phase_order) {
    EXPECT_TRUE(axes.particle >= 0 && axes.particle < 3 && axes.hole >= 0 && axes.hole < 3);
    EXPECT_TRUE(seen.insert({axes.particle, axes.hole}).second) << axes.particle << ", " << axes.hole;
  }
  EXPECT_EQ(seen.size(), static_cast<std::size_t>(phases_of_target));
}

TEST(PhaseOrder, IsInverted) {
  for (int n = 0; n < phases_of_target; ++n) {
    const PhaseAxes& axes = phase_order[static_cast<std::size_t>(n)];
    EXPECT_EQ(phase_of(axes.particle, axes.hole), n);
  }
  EXPECT_EQ(phase_of(0, 3), -1);
}

// A change of the hole interchanges lanes, which costs more than a change of the particle.
TEST(PhaseOrder, ChangesOneAxisAtATimeAndTheHoleTwice) {
  int holes_changed = 0;
  for (std::size_t n = 1; n < phase_order.size(); ++n) {
    const bool particle = phase_order[n].particle != phase_order[n - 1].particle;
    const bool hole = phase_order[n].hole != phase_order[n - 1].hole;
    EXPECT_NE(particle, hole) << n;
    holes_changed += hole ? 1 : 0;
  }
  EXPECT_EQ(holes_changed, 2);
}

}  // namespace
}  // namespace trifuse::gpu
