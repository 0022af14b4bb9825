#include "cxx/cuda/schedule/slab_table.hpp"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <random>
#include <vector>

#include "cxx/base/error.hpp"

namespace trifuse::gpu {
namespace {

/// A slab with a number. Slabs with the same number have the same size.
SlabTable::Wanted slab(int number, std::int64_t bytes) {
  return {PanelKey::vvoo(0, {number, 0, 0, 0}), bytes};
}

TEST(SlabTable, DropsTheSlabThatWasUsedLeastRecently) {
  SlabTable table(3 * 1024);
  const std::array<SlabTable::Wanted, 4> slabs = {slab(0, 1024), slab(1, 1024), slab(2, 1024), slab(3, 1024)};
  for (int n = 0; n < 3; ++n) EXPECT_TRUE(table.locate(std::array{slabs[static_cast<std::size_t>(n)]}).front().missing);
  EXPECT_FALSE(table.locate(std::array{slabs[0]}).front().missing);
  EXPECT_TRUE(table.locate(std::array{slabs[3]}).front().missing);
  EXPECT_TRUE(table.contains(slabs[0].key));
  EXPECT_FALSE(table.contains(slabs[1].key));
  EXPECT_TRUE(table.contains(slabs[2].key));
  EXPECT_EQ(table.used(), 3 * 1024);
}

TEST(SlabTable, KeepsTheSlabsOfOneList) {
  SlabTable table(3 * 1024);
  const auto a = slab(0, 1024), b = slab(1, 1024), c = slab(2, 2048);
  table.locate(std::array{a});
  table.locate(std::array{b});
  // `a` is the oldest slab, but the list uses it.
  const auto locations = table.locate(std::array{c, a});
  EXPECT_TRUE(table.contains(a.key));
  EXPECT_TRUE(table.contains(c.key));
  EXPECT_FALSE(table.contains(b.key));
  EXPECT_TRUE(locations[0].missing);
}

TEST(SlabTable, ForgetsWhatCouldNotBeBrought) {
  SlabTable table(1024);
  table.locate(std::array{slab(0, 1024)});
  table.forget(slab(0, 1024).key);
  EXPECT_EQ(table.used(), 0);
  EXPECT_TRUE(table.locate(std::array{slab(0, 1024)}).front().missing);
}

TEST(SlabTable, RefusesAListThatIsTooLarge) {
  SlabTable table(2048);
  table.locate(std::array{slab(0, 512)});
  EXPECT_THROW(table.locate(std::array{slab(1, 1024), slab(2, 1280)}), Error);
  // Nothing counts as present that nobody has brought.
  EXPECT_FALSE(table.contains(slab(1, 1024).key));
  EXPECT_TRUE(table.locate(std::array{slab(1, 1024), slab(2, 1024)}).front().missing);
}

// Lists of random slabs in a range that just holds the largest list, so that gaps are often in the way.
TEST(SlabTable, FindsLocationsThatDoNotOverlap) {
  std::mt19937 random(5);
  std::vector<SlabTable::Wanted> all;
  for (int n = 0; n < 12; ++n) all.push_back(slab(n, 100 + static_cast<std::int64_t>(random() % 4000)));
  std::vector<std::vector<SlabTable::Wanted>> lists;
  std::int64_t room = 0;
  for (int n = 0; n < 300; ++n) {
    std::map<int, SlabTable::Wanted> list;
    for (int k = 0; k < 4; ++k) {
      const auto number = static_cast<int>(random() % all.size());
      list.emplace(number, all[static_cast<std::size_t>(number)]);
    }
    lists.emplace_back();
    for (const auto& [number, wanted] : list) lists.back().push_back(wanted);
    room = std::max(room, SlabTable::required(lists.back()));
  }
  SlabTable table(room);
  std::map<PanelKey, std::int64_t> brought;  // where slabs were put, of those that are still there
  int found = 0;
  for (const auto& list : lists) {
    const auto locations = table.locate(list);
    std::erase_if(brought, [&](const auto& entry) { return !table.contains(entry.first); });
    for (std::size_t n = 0; n < list.size(); ++n) {
      EXPECT_LE(locations[n].offset + list[n].bytes, room);
      for (std::size_t m = 0; m < n; ++m) {
        EXPECT_TRUE(locations[n].offset + list[n].bytes <= locations[m].offset ||
                    locations[m].offset + list[m].bytes <= locations[n].offset);
      }
      if (!locations[n].missing) {
        ASSERT_TRUE(brought.contains(list[n].key));
        EXPECT_EQ(locations[n].offset, brought.at(list[n].key));
        ++found;
      }
      brought[list[n].key] = locations[n].offset;
    }
  }
  EXPECT_GT(found, 0);
}

}
}
