#include "cxx/cuda/schedule/arena.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <vector>

namespace trifuse::gpu {
namespace {

constexpr std::int64_t unit = 256;

/// What is free and what is taken, unit by unit, beside an arena that is asked for random stretches.
class ShadowedArena {
 public:
  ShadowedArena(std::int64_t units, unsigned seed) : arena_(units * unit), taken_(at(units), false), random_(seed) {}

  void take() {
    const std::int64_t bytes = draw(1, 9 * unit);
    const std::int64_t units = Arena::rounded(bytes) / unit;
    const auto offset = arena_.take(bytes);
    ASSERT_EQ(offset.has_value(), longest_gap() >= units) << "of " << bytes << " bytes";
    if (!offset) {
      ++refused;
      return;
    }
    ASSERT_EQ(*offset % unit, 0);
    ASSERT_GE(*offset, 0);
    ASSERT_LE(*offset + units * unit, arena_.size());
    for (std::int64_t n = 0; n < units; ++n) {
      ASSERT_FALSE(taken_[at(*offset / unit + n)]) << "two stretches overlap";
      taken_[at(*offset / unit + n)] = true;
    }
    stretches_.push_back({*offset, units});
  }

  void give_back() {
    if (stretches_.empty()) return;
    const std::size_t which = at(draw(0, static_cast<std::int64_t>(stretches_.size()) - 1));
    const Stretch stretch = stretches_[which];
    stretches_.erase(stretches_.begin() + static_cast<std::ptrdiff_t>(which));
    arena_.give_back(stretch.offset);
    for (std::int64_t n = 0; n < stretch.units; ++n) taken_[at(stretch.offset / unit + n)] = false;
  }

  void give_all_back() {
    while (!stretches_.empty()) give_back();
  }

  std::int64_t draw(std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random_);
  }
  std::int64_t used() const { return unit * std::count(taken_.begin(), taken_.end(), true); }
  Arena& arena() { return arena_; }

  int refused = 0;

 private:
  static std::size_t at(std::int64_t n) { return static_cast<std::size_t>(n); }
  std::int64_t longest_gap() const {
    std::int64_t longest = 0, gap = 0;
    for (const bool taken : taken_) {
      gap = taken ? 0 : gap + 1;
      longest = std::max(longest, gap);
    }
    return longest;
  }

  struct Stretch {
    std::int64_t offset, units;
  };
  Arena arena_;
  std::vector<bool> taken_;
  std::vector<Stretch> stretches_;
  std::mt19937 random_;
};

// A request is refused just where no gap is long enough: so gaps that meet are joined, and none is lost.
TEST(Arena, HandsOutWhatIsFreeAndNothingElse) {
  for (const unsigned seed : {1u, 2u, 3u}) {
    ShadowedArena arena(60, seed);
    for (int n = 0; n < 5000 && !::testing::Test::HasFatalFailure(); ++n) {
      if (arena.draw(0, 9) < 6) {
        arena.take();
      } else {
        arena.give_back();
      }
      ASSERT_EQ(arena.arena().used(), arena.used());
    }
    EXPECT_GT(arena.refused, 100);
    arena.give_all_back();
    EXPECT_EQ(arena.arena().used(), 0);
    EXPECT_EQ(arena.arena().take(arena.arena().size()), 0);
  }
}

TEST(Arena, RefusesWhatDoesNotFit) {
  Arena arena(4 * unit + 100);
  EXPECT_EQ(arena.size(), 4 * unit);
  EXPECT_FALSE(arena.take(4 * unit + 1));
  EXPECT_EQ(arena.used(), 0);
  EXPECT_TRUE(arena.take(4 * unit));
  EXPECT_FALSE(arena.take(1));
  EXPECT_FALSE(Arena(0).take(1));
  EXPECT_FALSE(Arena(unit - 1).take(1));
}

TEST(Arena, GivesEvenNothingAPlaceOfItsOwn) {
  Arena arena(2 * unit);
  const auto first = arena.take(0), second = arena.take(0);
  ASSERT_TRUE(first && second);
  EXPECT_NE(*first, *second);
}

TEST(Arena, DoesNotMindWhatItNeverHandedOut) {
  Arena arena(2 * unit);
  const auto first = arena.take(1);
  ASSERT_TRUE(first);
  arena.give_back(unit);
  EXPECT_EQ(arena.used(), unit);
  arena.give_back(*first);
  arena.give_back(*first);
  EXPECT_EQ(arena.used(), 0);
  EXPECT_TRUE(arena.take(2 * unit));
}

}  // namespace
}  // namespace trifuse::gpu
