#include "cxx/cuda/schedule/arena.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <vector>

namespace trifuse::gpu {
namespace {

constexpr std::int64_t unit = 256;

/// An arena and an independent record of its free and allocated units, under random calls.
class ShadowedArena {
 public:
  ShadowedArena(std::int64_t units, unsigned seed)
      : arena_(units * unit), allocated_(at(units), false), random_(seed) {}

  void allocate() {
    const std::int64_t bytes = draw(1, 9 * unit);
    const std::int64_t units = Arena::rounded(bytes) / unit;
    const auto offset = arena_.allocate(bytes);
    ASSERT_EQ(offset.has_value(), longest_gap() >= units) << "of " << bytes << " bytes";
    if (!offset) {
      ++refused;
      return;
    }
    ASSERT_EQ(*offset % unit, 0);
    ASSERT_GE(*offset, 0);
    ASSERT_LE(*offset + units * unit, arena_.size());
    for (std::int64_t n = 0; n < units; ++n) {
      ASSERT_FALSE(allocated_[at(*offset / unit + n)]) << "two ranges overlap";
      allocated_[at(*offset / unit + n)] = true;
    }
    ranges_.push_back({*offset, units});
  }

  void release() {
    if (ranges_.empty()) return;
    const std::size_t which = at(draw(0, static_cast<std::int64_t>(ranges_.size()) - 1));
    const Range range = ranges_[which];
    ranges_.erase(ranges_.begin() + static_cast<std::ptrdiff_t>(which));
    arena_.release(range.offset);
    for (std::int64_t n = 0; n < range.units; ++n) allocated_[at(range.offset / unit + n)] = false;
  }

  void release_all() {
    while (!ranges_.empty()) release();
  }

  std::int64_t draw(std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random_);
  }
  std::int64_t used() const { return unit * std::count(allocated_.begin(), allocated_.end(), true); }
  Arena& arena() { return arena_; }

  int refused = 0;

 private:
  static std::size_t at(std::int64_t n) { return static_cast<std::size_t>(n); }
  std::int64_t longest_gap() const {
    std::int64_t longest = 0, gap = 0;
    for (const bool allocated : allocated_) {
      gap = allocated ? 0 : gap + 1;
      longest = std::max(longest, gap);
    }
    return longest;
  }

  struct Range {
    std::int64_t offset, units;
  };
  Arena arena_;
  std::vector<bool> allocated_;
  std::vector<Range> ranges_;
  std::mt19937 random_;
};

// A request fails only if no gap is long enough. So neighbouring gaps are joined, and no gap is lost.
TEST(Arena, AllocatesFreeMemoryOnly) {
  for (const unsigned seed : {1u, 2u, 3u}) {
    ShadowedArena arena(60, seed);
    for (int n = 0; n < 5000 && !::testing::Test::HasFatalFailure(); ++n) {
      if (arena.draw(0, 9) < 6) {
        arena.allocate();
      } else {
        arena.release();
      }
      ASSERT_EQ(arena.arena().used(), arena.used());
    }
    EXPECT_GT(arena.refused, 100);
    arena.release_all();
    EXPECT_EQ(arena.arena().used(), 0);
    EXPECT_EQ(arena.arena().allocate(arena.arena().size()), 0);
  }
}

TEST(Arena, RefusesRangesThatDoNotFit) {
  Arena arena(4 * unit + 100);
  EXPECT_EQ(arena.size(), 4 * unit);
  EXPECT_FALSE(arena.allocate(4 * unit + 1));
  EXPECT_EQ(arena.used(), 0);
  EXPECT_TRUE(arena.allocate(4 * unit));
  EXPECT_FALSE(arena.allocate(1));
  EXPECT_FALSE(Arena(0).allocate(1));
  EXPECT_FALSE(Arena(unit - 1).allocate(1));
}

TEST(Arena, GivesEmptyRangesOffsetsOfTheirOwn) {
  Arena arena(2 * unit);
  const auto first = arena.allocate(0), second = arena.allocate(0);
  ASSERT_TRUE(first && second);
  EXPECT_NE(*first, *second);
}

TEST(Arena, IgnoresOffsetsThatAreNotAllocated) {
  Arena arena(2 * unit);
  const auto first = arena.allocate(1);
  ASSERT_TRUE(first);
  arena.release(unit);
  EXPECT_EQ(arena.used(), unit);
  arena.release(*first);
  arena.release(*first);
  EXPECT_EQ(arena.used(), 0);
  EXPECT_TRUE(arena.allocate(2 * unit));
}

}
}
