#include "tce_tiles/factor_arrays.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
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
  input.factor_source->load(nullptr);
  EXPECT_EQ(reads, 3);
  input.factor_source->load(nullptr);
  integrals->read_all(box);
  EXPECT_EQ(reads, 3);
}

/// Made-up factors, as a caller delivers them box by box.
struct DeliveredFactors {
  std::int64_t auxiliary, occupied, virtuals;
  bool vv_packed;
  double scale = 1.0;
  const char* scaled = "";  ///< the factors that are multiplied by `scale`
  int reads = 0;
  std::int64_t fewest = 1000;                    ///< auxiliary functions in a box
  std::atomic<bool> stop{false}, stops = false;  ///< `stop` becomes true when a box is read, if `stops` is true

  static double element(std::int64_t x, std::int64_t p, std::int64_t q) {
    const double n = static_cast<double>(std::max(p, q)), m = static_cast<double>(std::min(p, q));
    return std::sin(0.7 * static_cast<double>(x) + 0.31 * n + 0.013 * m * m);
  }
  CallerArray array(const char* name, std::int64_t p_count, std::int64_t q_count, bool packed) {
    CallerArray described;
    described.name = name;
    described.shape = {auxiliary, p_count, q_count};
    if (packed) described.shape = {auxiliary, p_count * (p_count + 1) / 2};
    described.reader = [this, name = std::string(name), packed](auto offset, auto count, std::span<double> box) {
      ++reads;
      fewest = std::min<std::int64_t>(fewest, count[0]);
      if (stops) stop = true;
      std::size_t n = 0;
      for (std::int64_t x = offset[0]; x < offset[0] + count[0]; ++x) {
        std::int64_t row = 0, pair = offset[1];
        while (packed && pair > row) pair -= ++row;
        for (std::int64_t p = offset[1]; p < offset[1] + count[1]; ++p, ++pair) {
          if (packed && pair > row) pair -= ++row;
          for (std::int64_t k = 0; k < (packed ? 1 : count[2]); ++k) {
            const double value = packed ? element(x, row, pair) : element(x, p, offset[2] + k);
            box[n++] = (name == scaled ? scale : 1.0) * value;
          }
        }
      }
    };
    return described;
  }
  DenseInput input() {
    DenseInput result;
    result.header.energies = {std::vector<double>(at(occupied), -1.0), std::vector<double>(at(occupied), -1.0),
                              std::vector<double>(at(virtuals), 1.0), std::vector<double>(at(virtuals), 1.0)};
    result.arrays =
        std::make_shared<CallerArrays>("caller", std::vector{array("factors_oo", occupied, occupied, false),
                                                             array("factors_ov", occupied, virtuals, false),
                                                             array("factors_vv", virtuals, virtuals, vv_packed)});
    use_factors(result);
    return result;
  }
};

// A row of a pair has its auxiliary functions side by side. If a box had few of them, each line of the cache would be
// written many times.
TEST(FactorArrays, AreReadInBoxesOfWholeCacheLines) {
  for (const bool vv_packed : {false, true}) {
    DeliveredFactors made{96, 130, 270, vv_packed};
    const DenseInput input = made.input();
    const FactorSource& factors = *input.factor_source;
    factors.load(nullptr);
    EXPECT_EQ(made.fewest, 8);
    // oo: a box for 8 functions; ov: two boxes for 32; vv: two packed ones, or one for 8.
    EXPECT_EQ(made.reads, 12 + 6 + (vv_packed ? 6 : 12));
    std::vector<double> vv(at(made.auxiliary * made.virtuals)), ov(vv.size());
    const ClassOrbitals all{OrbitalClass::particle_alpha, 0, made.virtuals};
    int wrong = 0;
    for (std::int64_t p = 0; p < made.virtuals; p += 7) {
      factors.read_vv({OrbitalClass::particle_alpha, p, 1}, all, vv);
      const std::int64_t h = std::min(p, made.occupied - 1);
      factors.read_ov({OrbitalClass::hole_alpha, h, 1}, all, ov);
      for (std::int64_t q = 0; q < made.virtuals; ++q) {
        for (std::int64_t x = 0; x < made.auxiliary; ++x) {
          wrong += vv[at(x * made.virtuals + q)] == DeliveredFactors::element(x, p, q) ? 0 : 1;
          wrong += ov[at(q * made.auxiliary + x)] == DeliveredFactors::element(x, h, q) ? 0 : 1;
        }
      }
    }
    EXPECT_EQ(wrong, 0);
  }
}

TEST(FactorArrays, OfIntegralsBeyondAnyReasonableSizeAreRefused) {
  for (const char* const name : {"factors_oo", "factors_ov", "factors_vv"}) {
    DeliveredFactors made{40, 3, 4, true, 100.0, name};
    EXPECT_NO_THROW(made.input().factor_source->load(nullptr)) << name;
    made.scale = 3000.0;
    const DenseInput input = made.input();
    expect_failure<InputError>([&] { input.factor_source->load(nullptr); }, std::string("in array '") + name + "' is ");
    expect_failure<InputError>([&] { input.factor_source->load(nullptr); }, "beyond any reasonable size");
  }
}

TEST(FactorArrays, StopBeingReadOnRequest) {
  DeliveredFactors made{96, 130, 270, true};
  made.stops = true;
  const DenseInput input = made.input();
  EXPECT_THROW(input.factor_source->load(&made.stop), Interrupted);
  EXPECT_LT(made.reads, 12);
  made.stops = made.stop = false;
  made.reads = 0;
  input.factor_source->load(&made.stop);
  EXPECT_EQ(made.reads, 24);
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
