#include "tce_tiles/sources/row_sums.hpp"

#include <gtest/gtest.h>

#include <array>
#include <utility>
#include <vector>

namespace trifuse::testing {
namespace {

using Index = std::vector<std::int64_t>;

std::vector<double> numbers(std::size_t count) {
  std::vector<double> values(count);
  for (std::size_t n = 0; n < count; ++n) values[n] = 1.0 / static_cast<double>(n + 3);
  return values;
}

TEST(RowSums, NoticeOneElementOfARow) {
  RowSums sums({2, 3, 5});
  const Index all = {0, 0, 0}, shape = {2, 3, 5};
  const std::vector<double> first = numbers(30);
  EXPECT_FALSE(sums.changed(all, shape, first));
  EXPECT_FALSE(sums.changed(all, shape, first));
  for (std::size_t n = 0; n < first.size(); ++n) {
    std::vector<double> other = first;
    other[n] += 1e-9;
    const auto row = static_cast<std::int64_t>(n / 5);
    EXPECT_EQ(sums.changed(all, shape, other), (Index{row / 3, row % 3, 0})) << n;
    other[n] = first[n] + 1e-15;
    EXPECT_FALSE(sums.changed(all, shape, other)) << "rounding";
  }
  std::vector<double> exchanged = first;
  std::swap(exchanged[11], exchanged[13]);
  EXPECT_EQ(sums.changed(all, shape, exchanged), (Index{0, 2, 0}));
}

TEST(RowSums, CompareBoxesOfAnyShape) {
  RowSums sums({2, 3, 5});
  const std::vector<double> all = numbers(30);
  EXPECT_FALSE(sums.changed(Index{0, 0, 0}, Index{2, 3, 5}, all));
  EXPECT_FALSE(sums.changed(Index{1, 1, 0}, Index{1, 2, 5}, std::span(all).subspan(20, 10)));
  EXPECT_EQ(sums.changed(Index{1, 1, 0}, Index{1, 2, 5}, std::span(all).subspan(19, 10)), (Index{1, 1, 0}));
  EXPECT_FALSE(sums.changed(Index{0, 2, 0}, Index{1, 1, 5}, std::span(all).subspan(10, 5)));
}

TEST(RowSums, DivideLongRowsIntoPieces) {
  constexpr std::int64_t piece = RowSums::longest_piece, row = 2 * piece + 7;
  RowSums sums({2, row});
  for (const auto& [first, count, wanted_first, wanted_count] :
       {std::array{std::int64_t{0}, std::int64_t{1}, std::int64_t{0}, piece},
        std::array{piece - 1, std::int64_t{2}, std::int64_t{0}, 2 * piece}, std::array{piece, piece, piece, piece},
        std::array{2 * piece + 1, std::int64_t{3}, 2 * piece, std::int64_t{7}}}) {
    const RowSums::Range whole = sums.whole_pieces({first, count});
    EXPECT_EQ(whole.first, wanted_first);
    EXPECT_EQ(whole.count, wanted_count);
  }
  std::vector<double> values = numbers(static_cast<std::size_t>(row));
  EXPECT_FALSE(sums.changed(Index{1, 0}, Index{1, row}, values));
  values[static_cast<std::size_t>(piece) + 3] = 1.0;
  EXPECT_EQ(sums.changed(Index{1, 0}, Index{1, row}, values), (Index{1, piece}));
  EXPECT_FALSE(sums.changed(Index{1, 2 * piece}, Index{1, 7}, std::span(values).last(7)));
}

}
}
