#include "tce_tiles/factor_arrays.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tce_tiles/caller_arrays.hpp"
#include "tests/support/refusals.hpp"

namespace trifuse {
namespace {

using namespace trifuse::testing;

constexpr std::int64_t naux = 7, occupied = 3, virtuals = 5;

std::size_t at(std::int64_t n) {
  return static_cast<std::size_t>(n);
}

/// Made-up factors [naux,p_count,q_count], symmetric if both counts are equal.
std::vector<double> made_up(std::int64_t p_count, std::int64_t q_count) {
  std::vector<double> factors;
  for (std::int64_t x = 0; x < naux; ++x) {
    for (std::int64_t p = 0; p < p_count; ++p) {
      for (std::int64_t q = 0; q < q_count; ++q) {
        const auto n = static_cast<double>(p_count == q_count ? p * q + p + q : 3 * p + 11 * q);
        factors.push_back(std::sin(0.7 * static_cast<double>(x) + n));
      }
    }
  }
  return factors;
}

/// The lower triangle of made-up factors.
std::vector<double> packed(const std::vector<double>& square, std::int64_t count) {
  std::vector<double> pairs;
  for (std::int64_t x = 0; x < naux; ++x) {
    for (std::int64_t p = 0; p < count; ++p) {
      for (std::int64_t q = 0; q <= p; ++q) pairs.push_back(square[at((x * count + p) * count + q)]);
    }
  }
  return pairs;
}

class ArraysFromFactors : public ::testing::Test {
 protected:
  /// The input with arrays of these factors. `vv_packed`: factors_vv is packed.
  DenseInput input(bool vv_packed) {
    DenseInput result;
    result.header.energies = {std::vector<double>(at(occupied), -1.0), std::vector<double>(at(occupied), -1.0),
                              std::vector<double>(at(virtuals), 1.0), std::vector<double>(at(virtuals), 1.0)};
    const auto array = [](const char* name, const std::vector<double>& values, std::vector<std::int64_t> shape) {
      CallerArray described;
      described.name = name;
      described.data = values.data();
      described.shape = std::move(shape);
      return described;
    };
    std::vector<CallerArray> arrays{array("factors_oo", oo_, {naux, occupied, occupied}),
                                    array("factors_ov", ov_, {naux, occupied, virtuals})};
    arrays.push_back(vv_packed ? array("factors_vv", vv_packed_, {naux, virtuals * (virtuals + 1) / 2})
                               : array("factors_vv", vv_, {naux, virtuals, virtuals}));
    result.arrays = std::make_shared<CallerArrays>("caller", std::move(arrays));
    use_factors(result);
    return result;
  }

  double product(const std::vector<double>& left, std::int64_t left_row, const std::vector<double>& right,
                 std::int64_t right_row) const {
    const std::int64_t lefts = std::ssize(left) / naux, rights = std::ssize(right) / naux;
    double sum = 0.0;
    for (std::int64_t x = 0; x < naux; ++x) sum += left[at(x * lefts + left_row)] * right[at(x * rights + right_row)];
    return sum;
  }

  const std::vector<double> oo_ = made_up(occupied, occupied), ov_ = made_up(occupied, virtuals),
                            vv_ = made_up(virtuals, virtuals), vv_packed_ = packed(vv_, virtuals);
};

// Boxes of a packed array begin and end on both sides of its diagonal.
TEST_F(ArraysFromFactors, EveryBoxIsTheSumOfProducts) {
  for (const bool vv_packed : {false, true}) {
    const DenseInput all = input(vv_packed);
    EXPECT_EQ(all.factors.size(), 3U);
    const struct {
      const char* name;
      std::array<std::int64_t, 4> shape;
      const std::vector<double>&left, &right;
    } cases[] = {{"ovvv", {occupied, virtuals, virtuals, virtuals}, ov_, vv_},
                 {"ovoo", {occupied, virtuals, occupied, occupied}, ov_, oo_},
                 {"ovov", {occupied, virtuals, occupied, virtuals}, ov_, ov_},
                 {"oovv", {occupied, occupied, virtuals, virtuals}, oo_, vv_}};
    for (const auto& [name, shape, left, right] : cases) {
      ASSERT_TRUE(all.arrays->has(name));
      const auto array = all.arrays->array(name);
      ASSERT_TRUE(std::equal(shape.begin(), shape.end(), array->shape().begin(), array->shape().end()));
      for (std::int64_t r = 0; r < shape[2]; ++r) {
        for (std::int64_t s = 0; s < shape[3]; ++s) {
          const std::array<std::int64_t, 4> offset{1, 0, r, s},
              count{shape[0] - 1, shape[1], shape[2] - r, shape[3] - s};
          std::vector<double> box(at(count[0] * count[1] * count[2] * count[3]));
          array->read(offset, count, box);
          std::size_t n = 0;
          for (std::int64_t p = 1; p < shape[0]; ++p) {
            for (std::int64_t q = 0; q < shape[1]; ++q) {
              for (std::int64_t u = r; u < shape[2]; ++u) {
                for (std::int64_t w = s; w < shape[3]; ++w, ++n) {
                  ASSERT_NEAR(box[n], product(left, p * shape[1] + q, right, u * shape[3] + w), 1e-13) << name;
                }
              }
            }
          }
        }
      }
    }
  }
}

TEST(FactorArrays, AreReadOnceAndOnlyWhenTheyAreUsed) {
  int reads = 0;
  const auto array = [&](const char* name, std::vector<std::int64_t> shape) {
    CallerArray described;
    described.name = name;
    described.shape = std::move(shape);
    described.reader = [&reads](auto, auto, std::span<double> box) {
      std::fill(box.begin(), box.end(), 0.5);
      ++reads;
    };
    return described;
  };
  DenseInput input;
  input.header.energies = {std::vector{-1.0, -1.0}, std::vector{-1.0, -1.0}, std::vector{1.0}, std::vector{1.0}};
  input.arrays = std::make_shared<CallerArrays>(
      "caller",
      std::vector{array("factors_oo", {2, 2, 2}), array("factors_ov", {2, 2, 1}), array("factors_vv", {2, 1})});
  use_factors(input);
  const auto integrals = input.arrays->array("ovoo");
  EXPECT_EQ(input.factor_source->auxiliary(), 2);
  EXPECT_EQ(reads, 0);
  std::vector<double> box(8);
  integrals->read_all(box);
  EXPECT_EQ(reads, 2);  // not factors_vv
  EXPECT_EQ(box, std::vector<double>(8, 0.5));
  input.factor_source->load();
  EXPECT_EQ(reads, 3);
  input.factor_source->load();
  integrals->read_all(box);
  EXPECT_EQ(reads, 3);
}

TEST_F(ArraysFromFactors, StoredArraysStayWhatTheyAre) {
  const DenseInput all = input(true);
  EXPECT_TRUE(all.arrays->has("factors_ov"));
  EXPECT_FALSE(all.arrays->has("t2"));
  EXPECT_EQ(all.arrays->path(), "caller");
  DenseInput without;
  without.arrays = std::make_shared<CallerArrays>("caller", std::vector<CallerArray>());
  const auto* const before = without.arrays.get();
  use_factors(without);
  EXPECT_EQ(without.arrays.get(), before);
  EXPECT_TRUE(without.factors.empty());
}

}  // namespace
}  // namespace trifuse
