#include "cxx/cpu/scatter.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace trifuse {
namespace {

/// Strides of a target with another order of dimensions and with gaps after each row. `order[0]` is the fastest.
Six permuted_strides(const Six& extent, const std::array<std::size_t, 6>& order, std::int64_t gap) {
  Six stride{};
  std::int64_t step = 1;
  for (std::size_t d = 0; d < 6; ++d) {
    stride[order[d]] = step;
    step *= extent[order[d]] + (d == 0 ? gap : 0);
  }
  return stride;
}

struct Arrays {
  std::vector<double> source, target;
};

Arrays make_arrays(const Six& extent, std::int64_t gap) {
  std::int64_t elements = 1, largest = 0;
  for (const std::int64_t n : extent) {
    elements *= n;
    largest = std::max(largest, n);
  }
  Arrays arrays;
  arrays.source.resize(static_cast<std::size_t>(elements));
  std::iota(arrays.source.begin(), arrays.source.end(), 1.0);
  arrays.target.assign(static_cast<std::size_t>(elements * (1 + gap)), 0.5);
  return arrays;
}

void plain_loop(const double* source, const Six& n, const Six& from, const Six& to, double sign, bool assign,
                double* target) {
  Six x{};
  for (bool more = true; more;) {
    std::int64_t s = 0, t = 0;
    for (std::size_t d = 0; d < 6; ++d) {
      s += x[d] * from[d];
      t += x[d] * to[d];
    }
    target[t] = (assign ? 0.0 : target[t]) + sign * source[s];
    std::size_t d = 0;
    while (d < 6 && ++x[d] == n[d]) x[d++] = 0;
    more = d < 6;
  }
}

void expect_all_permutations(const Six& extent, std::int64_t gap) {
  std::array<std::size_t, 6> order = {0, 1, 2, 3, 4, 5};
  do {
    const Six to = permuted_strides(extent, order, gap), from = dense_strides(extent);
    for (const bool assign : {true, false}) {
      for (const double sign : {1.0, -1.0}) {
        Arrays found = make_arrays(extent, gap), expected = found;
        scatter(found.source.data(), extent, from, to, sign, assign, found.target.data());
        plain_loop(expected.source.data(), extent, from, to, sign, assign, expected.target.data());
        ASSERT_EQ(found.target, expected.target) << "order " << ::testing::PrintToString(order);
      }
    }
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(Scatter, PutsSixDimensionsInAnyOrder) {
  expect_all_permutations({3, 2, 4, 1, 2, 3}, 0);
}

TEST(Scatter, DoesNotChangeGapsBetweenRuns) {
  expect_all_permutations({3, 2, 1, 2, 2, 3}, 5);
}

TEST(Scatter, PutsDimensionsLongerThanAVectorInAnyOrder) {
  expect_all_permutations({17, 1, 9, 1, 2, 1}, 0);
}

TEST(Scatter, PutsSingleElements) {
  expect_all_permutations({1, 1, 1, 1, 1, 1}, 0);
}

TEST(Scatter, ReadsASourceWithGaps) {
  const Six extent = {5, 2, 3, 2, 1, 2}, from = permuted_strides(extent, {0, 1, 2, 3, 4, 5}, 3);
  const Six to = permuted_strides(extent, {2, 0, 1, 3, 5, 4}, 0);
  Arrays found = make_arrays(extent, 0);
  found.source.resize(found.source.size() * 2, 7.0);
  Arrays expected = found;
  scatter(found.source.data(), extent, from, to, 1.0, false, found.target.data());
  plain_loop(expected.source.data(), extent, from, to, 1.0, false, expected.target.data());
  EXPECT_EQ(found.target, expected.target);
}

TEST(Scatter, PadsRowsWithZeros) {
  for (const std::int64_t length : {1, 7, 8, 15, 16, 17, 30}) {
    const Six extent = {length, 2, 3, 1, 2, 2}, from = dense_strides(extent);
    Six padded = extent;
    padded[0] = row_length(length);
    const Six to = permuted_strides(padded, {0, 2, 1, 5, 3, 4}, 0);
    for (const bool assign : {true, false}) {
      Arrays found = make_arrays(padded, 0), expected = found;
      for (std::int64_t c = 0; c < static_cast<std::int64_t>(found.target.size()); ++c) {
        const bool behind = c % padded[0] >= length;
        if (behind) expected.target[static_cast<std::size_t>(c)] = 0.0;
        if (behind && !assign) found.target[static_cast<std::size_t>(c)] = 0.0;
      }
      scatter_padded_rows(found.source.data(), extent, from, to, -1.0, assign, found.target.data());
      plain_loop(expected.source.data(), extent, from, to, -1.0, assign, expected.target.data());
      ASSERT_EQ(found.target, expected.target) << "rows of " << length;
    }
  }
}

}
}
