#include "cxx/base/buffer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

namespace trifuse {
namespace {

TEST(Buffers, OfZerosAreAlignedAndZeroAlsoInReusedMemory) {
  // The last one is in large pages, if the system supports them.
  for (const std::size_t count : {1, 7, 8, 1000, 1 << 17, 3 << 19}) {
    {
      Buffer used(count);
      std::fill_n(used.data(), count, 1.0);
    }
    const Buffer zeros = Buffer::zeros(count);
    ASSERT_EQ(zeros.size(), count);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(zeros.data()) % Buffer::alignment, 0u);
    EXPECT_EQ(std::count(zeros.data(), zeros.data() + count, 0.0), static_cast<std::ptrdiff_t>(count));
  }
  EXPECT_EQ(Buffer::zeros(0).size(), 0u);
}

TEST(Buffers, KeepTheirArrayWhenTheyMove) {
  Buffer zeros = Buffer::zeros(5);
  const double* const data = zeros.data();
  Buffer moved = std::move(zeros);
  EXPECT_EQ(moved.data(), data);
  moved = Buffer(3);
  EXPECT_NE(moved.data(), nullptr);
}

}
}
