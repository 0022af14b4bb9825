#include "cxx/base/spare_buffers.hpp"

#include <gtest/gtest.h>

namespace trifuse::testing {
namespace {

constexpr std::int64_t width = sizeof(double);

TEST(SpareBuffers, GivesTheSmallestThatIsLongEnoughAndWastesNoMoreThanHalf) {
  SpareBuffers spare;
  for (const std::size_t size : {400, 100, 150, 50}) spare.give(SpareBuffers::fresh(size));
  EXPECT_EQ(spare.bytes(), 700 * width);
  EXPECT_EQ(spare.take(90).size(), 100u);
  EXPECT_EQ(spare.take(90).size(), 150u);
  EXPECT_EQ(spare.take(90).size(), 0u);
  EXPECT_EQ(spare.take(401).size(), 0u);
  EXPECT_EQ(spare.take(200).size(), 400u);
  EXPECT_EQ(spare.take(50).size(), 50u);
  EXPECT_EQ(spare.bytes(), 0);
}

TEST(SpareBuffers, FreesThoseThatWereGivenFirst) {
  SpareBuffers spare;
  for (const std::size_t size : {100, 200, 300}) spare.give(SpareBuffers::fresh(size));
  spare.shrink(600 * width);
  EXPECT_EQ(spare.bytes(), 600 * width);
  spare.shrink(599 * width);
  EXPECT_EQ(spare.bytes(), 500 * width);
  EXPECT_EQ(spare.take(100).size(), 200u);
  spare.shrink(0);
  EXPECT_EQ(spare.bytes(), 0);
  EXPECT_EQ(spare.take(300).size(), 0u);
}

TEST(SpareBuffers, HoldsWhatIsWrittenToAFreshOne) {
  // Longer than a large page, so that the advice concerns it.
  Buffer buffer = SpareBuffers::fresh(std::size_t{1} << 19);
  for (std::size_t n = 0; n < buffer.size(); n += 511) buffer.data()[n] = static_cast<double>(n);
  for (std::size_t n = 0; n < buffer.size(); n += 511) ASSERT_EQ(buffer.data()[n], static_cast<double>(n));
}

}  // namespace
}  // namespace trifuse::testing
