#include "cxx/base/median.hpp"

#include <gtest/gtest.h>

namespace trifuse {
namespace {

TEST(Median, IsTheLargerValueInTheMiddle) {
  EXPECT_EQ(median({3.0}), 3.0);
  EXPECT_EQ(median({5.0, 1.0, 3.0}), 3.0);
  EXPECT_EQ(median({4.0, 1.0, 3.0, 2.0}), 3.0);
}

}
}
