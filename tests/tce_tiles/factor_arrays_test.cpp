#include "tce_tiles/factors/factor_arrays.hpp"

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

#include "cxx/base/error.hpp"
#include "tce_tiles/checks/factor_check.hpp"
#include "tce_tiles/factors/factor_slabs.hpp"
#include "tce_tiles/sources/caller_arrays.hpp"
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

  std::vector<double> oo_ = made_up(occupied, occupied), ov_ = made_up(occupied, virtuals),
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
                 {"oovv", {occupied, occupied, virtuals, virtuals}, oo_, vv_},
                 {"oooo", {occupied, occupied, occupied, occupied}, oo_, oo_}};
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

TEST(FactorArrays, AreReadWhenTheyAreUsedAndHeldAsLongAsTheCallerWants) {
  std::array<int, 3> reads{};  // of oo, ov, vv
  const auto array = [&](const char* name, std::vector<std::int64_t> shape, std::size_t number) {
    CallerArray described;
    described.name = name;
    described.shape = std::move(shape);
    described.reader = [&reads, number](auto, auto, std::span<double> box) {
      std::fill(box.begin(), box.end(), 0.5);
      ++reads[number];
    };
    return described;
  };
  DenseInput input;
  input.header.energies = {std::vector{-1.0, -1.0}, std::vector{-1.0, -1.0}, std::vector{1.0}, std::vector{1.0}};
  input.arrays = std::make_shared<CallerArrays>(
      "caller", std::vector{array("factors_oo", {2, 2, 2}, 0), array("factors_ov", {2, 2, 1}, 1),
                            array("factors_vv", {2, 1}, 2)});
  use_factors(input);
  const auto ovoo = input.arrays->array("ovoo"), ovvv = input.arrays->array("ovvv");
  const FactorSource& factors = *input.factor_source;
  using Reads = std::array<int, 3>;
  EXPECT_EQ(factors.auxiliary(), 2);
  EXPECT_EQ(reads, (Reads{0, 0, 0}));
  std::vector<double> box(8), small(2);
  ovoo->read_all(box);
  EXPECT_EQ(box, std::vector<double>(8, 0.5));
  EXPECT_EQ(reads, (Reads{1, 1, 0}));
  auto held = factors.acquire_factors(nullptr), also_held = factors.acquire_factors(nullptr);
  EXPECT_EQ(reads, (Reads{1, 1, 0}));
  ovvv->read_all(small);
  EXPECT_EQ(reads, (Reads{1, 1, 1}));
  held.reset();
  ovoo->read_all(box);
  ovvv->read_all(small);
  EXPECT_EQ(reads, (Reads{1, 1, 1}));
  also_held.reset();
  ovvv->read_all(small);
  EXPECT_EQ(reads, (Reads{1, 2, 2}));
  held = factors.acquire_factors(nullptr);
  EXPECT_EQ(reads, (Reads{2, 2, 2}));
  input = {};
  held.reset();  // the factors themselves have ceased to exist
}

TEST_F(ArraysFromFactors, PassInBands) {
  constexpr OrbitalClass particles = OrbitalClass::particle_alpha;
  for (const bool vv_packed : {false, true}) {
    const DenseInput all = input(vv_packed);
    for (const OrbitalClass c : {particles, OrbitalClass::particle_beta}) {
      for (std::int64_t begin = 0; begin <= naux; ++begin) {
        for (std::int64_t end = begin; end <= naux; ++end) {
          std::vector<double> found(vv_.size(), 0.0), wanted(vv_.size(), 0.0);
          constexpr std::int64_t plane = virtuals * virtuals;
          std::copy(vv_.begin() + begin * plane, vv_.begin() + end * plane, wanted.begin() + begin * plane);
          all.factor_source->visit_vv(c, begin, end, 1, [&](const FactorBand& band) {
            EXPECT_EQ(band.particles, virtuals);
            for (std::int64_t k = 0; k < band.count * plane; ++k) found[at(band.begin * plane + k)] += band.planes[k];
          });
          EXPECT_EQ(found, wanted);
        }
      }
    }
    const auto element = [&](std::int64_t p, std::int64_t q, std::int64_t d) {
      return vv_[at((q * virtuals + p) * virtuals + d)];
    };
    std::vector<double> slab(at(2 * naux * 3)), other(at(naux * virtuals));
    const std::vector<FactorSlab> slabs{{{particles, 1, 2}, {particles, 2, 3}, slab},
                                        {{particles, 4, 1}, {particles, 0, virtuals}, other}};
    read_slabs(*all.factor_source, slabs, 2);
    for (std::int64_t q = 0; q < naux; ++q) {
      for (std::int64_t p = 0; p < 2; ++p) {
        for (std::int64_t d = 0; d < 3; ++d) EXPECT_EQ(slab[at((p * naux + q) * 3 + d)], element(1 + p, q, 2 + d));
      }
      for (std::int64_t d = 0; d < virtuals; ++d) EXPECT_EQ(other[at(q * virtuals + d)], element(4, q, d));
    }
  }
}

TEST_F(ArraysFromFactors, AreRefusedInEveryPartThatHasTheWrongElement) {
  const std::string packed_nan = "'factors_vv' holds a value that is not finite",
                    asymmetric = "element [5,3,2] is 9, but [5,2,3] is";
  vv_packed_[at(5 * 15 + 8)] = std::nan("");
  vv_[at((5 * virtuals + 3) * virtuals + 2)] = 9.0;
  for (const bool vv_packed : {false, true}) {
    const DenseInput all = input(vv_packed);
    const std::string& sentence = vv_packed ? packed_nan : asymmetric;
    for (const int parts : {1, 2, 3}) {
      const FactorCheck check(all);
      int refused = 0;
      for (int part = 0; part < parts; ++part) {
        const bool wrong = naux * part / parts <= 5 && 5 < naux * (part + 1) / parts;
        if (wrong) {
          expect_failure<InputError>([&] { check.run(part, parts, 2, nullptr); }, sentence);
        } else {
          EXPECT_NO_THROW(check.run(part, parts, 2, nullptr));
        }
        refused += wrong ? 1 : 0;
      }
      EXPECT_EQ(refused, 1);
    }
    std::vector<double> slab(at(naux));
    const FactorSlab small{{OrbitalClass::particle_alpha, 0, 1}, {OrbitalClass::particle_alpha, 0, 1}, slab};
    expect_failure<InputError>([&] { read_slabs(*all.factor_source, std::span(&small, 1), 2); }, sentence);
    std::vector<double> box(at(occupied * virtuals * virtuals * virtuals));
    expect_failure<InputError>([&] { all.arrays->array("ovvv")->read_all(box); }, sentence);
  }
}

TEST_F(ArraysFromFactors, HaveNoIntegralBeyondReason) {
  for (const int parts : {1, 3}) {
    const DenseInput all = input(true);
    const FactorCheck check(all);
    std::vector<double> sums(check.size(), 0.0);
    for (int part = 0; part < parts; ++part) {
      const std::vector<double> found = check.run(part, parts, 1, nullptr);
      for (std::size_t n = 0; n < sums.size(); ++n) sums[n] += found[n];
    }
    ASSERT_EQ(sums.size(), 15u);
    std::size_t n = 0;
    for (std::int64_t b = 0; b < virtuals; ++b) {
      for (std::int64_t c = 0; c <= b; ++c, ++n) {
        EXPECT_NEAR(sums[n], product(vv_, b * virtuals + c, vv_, b * virtuals + c), 1e-13);
      }
    }
    EXPECT_NO_THROW(check.accept(sums));
    sums[7] = 2e6;
    expect_failure<InputError>([&] { check.accept(sums); }, "'factors_vv'");
  }
  for (double& b : oo_) b *= 1e4;
  DenseInput wrong = input(true);
  expect_failure<InputError>([&] { FactorCheck(wrong).check_holes(2); }, "'factors_oo' is ");
  for (double& b : oo_) b *= 1e-4;
  for (double& b : ov_) b *= 1e4;
  wrong = input(true);
  expect_failure<InputError>([&] { FactorCheck(wrong).check_holes(2); }, "'factors_ov' is ");
}

TEST(FactorArrays, StopBeingReadOnRequest) {
  std::atomic<bool> stop{false}, stops{true};
  std::atomic<int> reads{0};
  const auto array = [&](const char* name, std::vector<std::int64_t> shape) {
    CallerArray described;
    described.name = name;
    described.shape = std::move(shape);
    described.reader = [&](auto, auto, std::span<double> box) {
      std::fill(box.begin(), box.end(), 0.5);
      stop = stop || stops;
      ++reads;
    };
    return described;
  };
  DenseInput input;
  input.header.energies = {std::vector{-1.0, -1.0}, std::vector{-1.0, -1.0}, std::vector{1.0}, std::vector{1.0}};
  input.arrays = std::make_shared<CallerArrays>(
      "caller",
      std::vector{array("factors_oo", {900, 2, 2}), array("factors_ov", {900, 2, 1}), array("factors_vv", {900, 1})});
  use_factors(input);
  const FactorSource& factors = *input.factor_source;
  EXPECT_THROW(factors.acquire_factors(&stop), Interrupted);
  EXPECT_LT(reads, 15);
  stops = stop = false;
  const auto held = factors.acquire_factors(&stop);
  stops = true;
  reads = 0;
  EXPECT_THROW(FactorCheck(input).run(0, 1, 1, &stop), Interrupted);
  EXPECT_LT(reads, 15);
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

}
}
