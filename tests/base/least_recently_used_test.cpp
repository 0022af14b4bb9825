#include "cxx/base/least_recently_used.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <list>
#include <memory>
#include <random>
#include <string>

namespace trifuse::testing {
namespace {

using Table = LeastRecentlyUsed<std::string, int>;

std::string oldest(const Table& table) {
  return table.oldest() == nullptr ? "" : *table.oldest();
}

TEST(LeastRecentlyUsed, EvictsInTheOrderOfTheLastUses) {
  Table table;
  EXPECT_EQ(table.oldest(), nullptr);
  EXPECT_EQ(table.find("a"), nullptr);
  EXPECT_EQ(table.use("a"), nullptr);
  for (const char* key : {"a", "b", "c", "d"}) EXPECT_EQ(table.add(key, *key), *key);
  EXPECT_EQ(*table.use("a"), 'a');
  EXPECT_EQ(*table.use("c"), 'c');
  EXPECT_EQ(*table.find("b"), 'b') << "a look is no use";
  std::string order;
  while (table.oldest() != nullptr) {
    order += *table.oldest();
    const char expected = order.back();
    EXPECT_EQ(table.remove(*table.oldest()), expected);
  }
  EXPECT_EQ(order, "bdac");
  EXPECT_EQ(table.size(), 0u);
}

TEST(LeastRecentlyUsed, PassesOverPinnedKeysAndKeepsTheirPlaces) {
  Table table;
  for (const char* key : {"a", "b", "c"}) table.add(key);
  table.pin("a");
  table.pin("a");
  table.pin("b");
  EXPECT_EQ(oldest(table), "c");
  table.pin("c");
  EXPECT_EQ(table.oldest(), nullptr);
  EXPECT_TRUE(table.unpin("b"));
  EXPECT_FALSE(table.unpin("a"));
  EXPECT_EQ(oldest(table), "b");
  EXPECT_TRUE(table.unpin("a"));
  EXPECT_EQ(oldest(table), "a") << "neither pin nor unpin is a use";
  table.remove("c");
  table.add("c");
  table.remove("a");
  table.remove("b");
  EXPECT_EQ(oldest(table), "c") << "the pin went with the key";
}

TEST(LeastRecentlyUsed, TakesValuesThatCannotBeCopied) {
  LeastRecentlyUsed<int, std::unique_ptr<int>> table;
  for (int n = 0; n < 100; ++n) table.add(n, std::make_unique<int>(n));
  EXPECT_EQ(*table.remove(57), 57);
  EXPECT_EQ(**table.use(99), 99);
}

/// A simple implementation of the same rules.
struct PlainTable {
  struct Entry {
    std::uint32_t key;
    int value, pins;
  };
  std::list<Entry> entries;  ///< the least recently used one first
  auto find(std::uint32_t key) {
    return std::find_if(entries.begin(), entries.end(), [&](const Entry& e) { return e.key == key; });
  }
  auto oldest() {
    return std::find_if(entries.begin(), entries.end(), [&](const Entry& e) { return e.pins == 0; });
  }
};

struct FewValues {
  std::size_t operator()(std::uint32_t key) const { return key % 5; }
};

/// Random calls must have the same results as with the simple table.
template <typename Hash>
void compare_with_plain_table() {
  std::mt19937 random(7);
  LeastRecentlyUsed<std::uint32_t, int, Hash> table;
  PlainTable plain;
  int evicted = 0, passed_over = 0;
  for (int n = 0; n < 20000; ++n) {
    const std::uint32_t key = random() % 200;
    const auto found = plain.find(key);
    const bool there = found != plain.entries.end();
    ASSERT_EQ(table.contains(key), there) << "step " << n;
    ASSERT_EQ(table.find(key) != nullptr && *table.find(key) == found->value, there);
    const auto step = random() % 8;
    if (!there) {
      table.add(key, n);
      plain.entries.push_back({key, n, 0});
    } else if (step < 3) {
      table.use(key);
      plain.entries.splice(plain.entries.end(), plain.entries, found);
    } else if (step == 3) {
      table.pin(key);
      ++found->pins;
    } else if (step < 6 && found->pins > 0) {
      ASSERT_EQ(table.unpin(key), --found->pins == 0);
    } else if (step == 6) {
      ASSERT_EQ(table.remove(key), found->value);
      plain.entries.erase(found);
    }
    while (plain.entries.size() > 120 && plain.oldest() != plain.entries.end()) {
      const auto oldest = plain.oldest();
      ASSERT_NE(table.oldest(), nullptr);
      ASSERT_EQ(*table.oldest(), oldest->key) << "step " << n;
      table.remove(oldest->key);
      ++evicted;
      if (oldest != plain.entries.begin()) ++passed_over;
      plain.entries.erase(oldest);
    }
    ASSERT_EQ(table.size(), plain.entries.size());
  }
  EXPECT_GT(evicted, 1000);
  EXPECT_GT(passed_over, 100);
}

TEST(LeastRecentlyUsed, IsTheSameAsAPlainList) {
  compare_with_plain_table<std::hash<std::uint32_t>>();
}

TEST(LeastRecentlyUsed, FindsKeysOfTheSameHash) {
  compare_with_plain_table<FewValues>();
}

}
}
