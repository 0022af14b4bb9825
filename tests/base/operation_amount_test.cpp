#include "cxx/base/operation_amount.hpp"

#include <gtest/gtest.h>

namespace {

using trifuse::format_operations;

TEST(OperationAmount, HasThreeDigitsAndOneUnit) {
  EXPECT_EQ(format_operations(0.0), "0 F");
  EXPECT_EQ(format_operations(512.0), "512 F");
  EXPECT_EQ(format_operations(999.4), "999 F");
  EXPECT_EQ(format_operations(999.6), "1 kF");
  EXPECT_EQ(format_operations(12.5e9), "12.5 GF");
  EXPECT_EQ(format_operations(3.76e19), "37.6 EF");
  EXPECT_EQ(format_operations(1e22), "1e+04 EF");
}

}
