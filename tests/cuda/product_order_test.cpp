#include "cxx/cuda/schedule/product_order.hpp"

#include <gtest/gtest.h>

#include <set>
#include <utility>

namespace trifuse::gpu {
namespace {

TEST(ProductOrder, HoldsEveryPairOfAxesOnce) {
  std::set<std::pair<int, int>> seen;
  for (const ProductAxes& axes : product_order) {
    EXPECT_TRUE(axes.particle >= 0 && axes.particle < 3 && axes.hole >= 0 && axes.hole < 3);
    EXPECT_TRUE(seen.insert({axes.particle, axes.hole}).second) << axes.particle << ", " << axes.hole;
  }
  EXPECT_EQ(seen.size(), static_cast<std::size_t>(products_per_target));
}

TEST(ProductOrder, IsInverted) {
  for (int n = 0; n < products_per_target; ++n) {
    const ProductAxes& axes = product_order[static_cast<std::size_t>(n)];
    EXPECT_EQ(product_number(axes.particle, axes.hole), n);
  }
  EXPECT_EQ(product_number(0, 3), -1);
}

// If the hole changes, lanes exchange accumulators. That costs more than a change of the particle.
TEST(ProductOrder, ChangesOneAxisAtATimeAndTheHoleTwice) {
  int holes_changed = 0;
  for (std::size_t n = 1; n < product_order.size(); ++n) {
    const bool particle = product_order[n].particle != product_order[n - 1].particle;
    const bool hole = product_order[n].hole != product_order[n - 1].hole;
    EXPECT_NE(particle, hole) << n;
    holes_changed += hole ? 1 : 0;
  }
  EXPECT_EQ(holes_changed, 2);
}

}  // namespace
}  // namespace trifuse::gpu
