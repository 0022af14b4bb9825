#include "cxx/base/buffer_pool.hpp"

#include <gtest/gtest.h>

namespace trifuse::testing {
namespace {

constexpr std::int64_t width = sizeof(double);

TEST(BufferPool, GivesTheSmallestBufferOfAtMostTwiceTheSize) {
  BufferPool pool;
  for (const std::size_t size : {400, 100, 150, 50}) pool.give(Buffer(size));
  EXPECT_EQ(pool.bytes(), 700 * width);
  EXPECT_EQ(pool.take(90).size(), 100u);
  EXPECT_EQ(pool.take(90).size(), 150u);
  EXPECT_EQ(pool.take(90).size(), 0u);
  EXPECT_EQ(pool.take(401).size(), 0u);
  EXPECT_EQ(pool.take(200).size(), 400u);
  EXPECT_EQ(pool.take(50).size(), 50u);
  EXPECT_EQ(pool.bytes(), 0);
}

TEST(BufferPool, FreesTheOldestBuffersFirst) {
  BufferPool pool;
  for (const std::size_t size : {100, 200, 300}) pool.give(Buffer(size));
  pool.shrink(600 * width);
  EXPECT_EQ(pool.bytes(), 600 * width);
  pool.shrink(599 * width);
  EXPECT_EQ(pool.bytes(), 500 * width);
  EXPECT_EQ(pool.take(100).size(), 200u);
  pool.shrink(0);
  EXPECT_EQ(pool.bytes(), 0);
  EXPECT_EQ(pool.take(300).size(), 0u);
}

}
}
