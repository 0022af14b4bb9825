#include "cxx/cuda/schedule/arena.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <vector>

namespace trifuse::gpu {
namespace {

constexpr std::int64_t unit = 256;

/// What is free and what is allocated, unit by unit, beside an arena that is asked for random stretches.
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
      ASSERT_FALSE(allocated_[at(*offset / unit + n)]) << "two stretches overlap";
      allocated_[at(*offset / unit + n)] = true;
    }
    stretches_.push_back({*offset, units});
  }

  void release() {
    if (stretches_.empty()) return;
    const std::size_t which = at(draw(0, static_cast<std::int64_t>(stretches_.size()) - 1));
    const Stretch stretch = stretches_[which];
    stretches_.erase(stretches_.begin() + static_cast<std::ptrdiff_t>(which));
    arena_.release(stretch.offset);
    for (std::int64_t n = 0; n < stretch.units; ++n) allocated_[at(stretch.offset / unit + n)] = false;
  }

  void release_all() {
    while (!stretches_.empty()) release();
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

  struct Stretch {
    std::int64_t offset, units;
  };
  Arena arena_;
  std::vector<bool> allocated_;
  std::vector<Stretch> stretches_;
  std::mt19937 random_;
};

// A request is refused just where no gap is long enough: so gaps that meet are joined, and none is lost.
TEST(Arena, HandsOutWhatIsFreeAndNothingElse) {
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

TEST(Arena, RefusesWhatDoesNotFit) {
  Arena arena(4 * unit + 100);
  EXPECT_EQ(arena.size(), 4 * unit);
  EXPECT_FALSE(arena.allocate(4 * unit + 1));
  EXPECT_EQ(arena.used(), 0);
  EXPECT_TRUE(arena.allocate(4 * unit));
  EXPECT_FALSE(arena.allocate(1));
  EXPECT_FALSE(Arena(0).allocate(1));
  EXPECT_FALSE(Arena(unit - 1).allocate(1));
}

TEST(Arena, GivesEvenNothingAPlaceOfItsOwn) {
  Arena arena(2 * unit);
  const auto first = arena.allocate(0), second = arena.allocate(0);
  ASSERT_TRUE(first && second);
  EXPECT_NE(*first, *second);
}

TEST(Arena, DoesNotMindWhatItNeverHandedOut) {
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

}  // namespace
}  // namespace trifuse::gpu
