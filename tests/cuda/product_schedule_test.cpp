#include "cxx/cuda/schedule/product_schedule.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cxx/cuda/schedule/accumulator_layout.hpp"
#include "tests/support/schedules.hpp"

/// Follows schedules on an emulated warp: arrays of lanes. The matrix instruction of the emulation puts the elements
/// where the true instruction puts them; everything between two products is what a kernel derives from its schedule.
namespace trifuse::gpu {
namespace {

struct RepeatedProduct {
  static constexpr std::array<ProductAxes, 2> products = {{{1, 1}, {1, 1}}};
};
struct NoSuchHole {
  static constexpr std::array<ProductAxes, 1> products = {{{1, 3}}};
};
struct NoProduct {
  static constexpr std::array<ProductAxes, 0> products = {};
};

static_assert(is_valid_schedule<StandardSchedule>() && is_valid_schedule<RoundSchedule>() &&
              is_valid_schedule<ReversedSchedule>() && is_valid_schedule<ShuffledSchedule>() &&
              is_valid_schedule<ShortSchedule>());
static_assert(!is_valid_schedule<RepeatedProduct>() && !is_valid_schedule<NoSuchHole>() &&
              !is_valid_schedule<NoProduct>());

/// An element of a warp tile and one block of holes: [a, b, c, i, j, k].
using Element = std::array<int, 6>;

int value(const Element& e, int q) {
  return e[static_cast<std::size_t>(q)];
}

/// An operand: pseudo-random integers, so that sums are exact. `axes`: of the product. `x`, `y`, `z`: its free indices.
double operand(int which, const ProductAxes& axes, int x, int y, int z) {
  std::uint32_t n =
      1 + static_cast<std::uint32_t>((((which * 3 + axes.particle) * 3 + axes.hole) * 64 + x) * 4096 + y * 64 + z);
  n *= 2654435761u;
  n ^= n >> 15;
  n *= 2246822519u;
  return static_cast<double>(n >> 20) - 2048.0;
}

/// One product: left[particle, h, h'] right[p, p', hole].
double product_of(const ProductAxes& axes, const Element& e) {
  const auto p = others(axes.particle), h = others(axes.hole);
  return operand(0, axes, value(e, axes.particle), value(e, 3 + h[0]), value(e, 3 + h[1])) *
         operand(1, axes, value(e, p[0]), value(e, p[1]), value(e, 3 + axes.hole));
}

/// The accumulators of a warp with a warp tile of `as` x `bs` x `cs` particles.
template <int as, int bs, int cs>
class EmulatedWarp {
 public:
  static constexpr int accumulators = as * bs * cs * 2;

  /// D of m16n8k8: lane 4 r + n holds D(r, 2 n), D(r, 2 n + 1), D(r + 8, 2 n), D(r + 8, 2 n + 1). Rows are [h, h'],
  /// columns [hole, low bit of the last particle of B], see layout.hpp.
  void multiply(const ProductAxes& axes) {
    const std::array<int, 3> extent = {as, bs, cs};
    const auto p = others(axes.particle), h = others(axes.hole);
    const auto size = [&](int q) { return extent[static_cast<std::size_t>(q)]; };
    for (int m = 0; m < size(axes.particle); ++m)
      for (int r = 0; r < size(p[0]); ++r)
        for (int c = 0; c < size(p[1]) / particle_pair; ++c)
          for (int lane = 0; lane < 32; ++lane)
            for (int n = 0; n < 4; ++n) {
              const int row = lane / 4 + n / 2 * 8, column = lane % 4 * 2 + n % 2;
              Element e{};
              const auto set = [&](int q, int to) { e[static_cast<std::size_t>(q)] = to; };
              set(axes.particle, m);
              set(p[0], r);
              set(p[1], c * particle_pair + column % particle_pair);
              set(3 + h[0], row / hole_group_size);
              set(3 + h[1], row % hole_group_size);
              set(3 + axes.hole, column / particle_pair);
              at(lane, fragment_number(axes.particle, bs, cs, m, r, c) * 4 + n) += product_of(axes, e);
            }
  }

  void change_sign() {
    for (auto& lane : lanes_)
      for (double& x : lane) x = -x;
  }

  void change_lone_particle(int from, int to) {
    const auto before = lanes_;
    for (int a = 0; a < as; ++a)
      for (int b = 0; b < bs; ++b)
        for (int c = 0; c < cs; ++c)
          for (int half = 0; half < 2; ++half)
            for (int lane = 0; lane < 32; ++lane) {
              at(lane, accumulator_index(to, bs, cs, a, b, c, half)) =
                  before[index(lane)][index(accumulator_index(from, bs, cs, a, b, c, half))];
            }
  }

  void change_lone_hole(int from, int to) {
    if (from == to) return;
    const LaneExchange exchange = lane_exchange(from, to);
    const auto before = lanes_;
    for (int x = 0; x < accumulators; ++x) {
      if (exchange.keeps_half()) {
        for (int lane = 0; lane < 32; ++lane) at(lane, x) = before[index(exchange.source_lane(lane, 0))][index(x)];
        continue;
      }
      if (x % 4 >= 2) continue;  // the register of half 1 moves together with that of half 0
      for (int n = 0; n < 2; ++n) {
        std::array<double, 32> given{};
        for (int lane = 0; lane < 32; ++lane) {
          given[index(lane)] = before[index(lane)][index(x + 2 * exchange.given_half(lane, n))];
        }
        for (int lane = 0; lane < 32; ++lane) {
          at(lane, x + 2 * exchange.stored_half(lane, n)) = given[index(exchange.source_lane(lane, n))];
        }
      }
    }
  }

  double& at(int lane, int accumulator) { return lanes_[index(lane)][index(accumulator)]; }

 private:
  static std::size_t index(int n) { return static_cast<std::size_t>(n); }
  std::array<std::array<double, accumulators>, 32> lanes_{};
};

/// Compares each accumulator with `expected(element)`, after a product with these axes.
template <int as, int bs, int cs, typename Expected>
void expect_elements(EmulatedWarp<as, bs, cs>& warp, const ProductAxes& axes, Expected expected) {
  std::set<std::pair<int, int>> seen;
  for (int a = 0; a < as; ++a)
    for (int b = 0; b < bs; ++b)
      for (int c = 0; c < cs; ++c)
        for (int i = 0; i < hole_group_size; ++i)
          for (int j = 0; j < hole_group_size; ++j)
            for (int k = 0; k < hole_group_size; ++k) {
              const int holes[3] = {i, j, k};
              const int lane = lane_of_holes(axes.hole, i, j, k), half = half_of_holes(axes.hole, i, j, k);
              const int number = accumulator_index(axes.particle, bs, cs, a, b, c, half);
              ASSERT_TRUE(seen.insert({lane, number}).second) << "two elements have the same accumulator";
              for (int q = 0; q < 3; ++q) {
                ASSERT_EQ(hole_of_lane(axes.hole, q, lane) + (q == halved_hole(axes.hole) ? 2 * half : 0), holes[q]);
              }
              ASSERT_EQ(warp.at(lane, number), expected({a, b, c, i, j, k}))
                  << a << ' ' << b << ' ' << c << ' ' << i << ' ' << j << ' ' << k;
            }
  EXPECT_EQ(seen.size(), std::size_t{32} * warp.accumulators);
}

/// Follows a schedule like build_target() of the kernel. After each product compares all elements with the sum of the
/// products so far. Signs are those of the table of terms.
template <typename Schedule, int as, int bs, int cs>
void expect_sums_of_products(bool with_signs) {
  SCOPED_TRACE(std::to_string(as) + "x" + std::to_string(bs) + "x" + std::to_string(cs));
  EmulatedWarp<as, bs, cs> warp;
  std::vector<Term> done;
  for (int n = 0; n < product_count<Schedule>; ++n) {
    SCOPED_TRACE("product " + std::to_string(n));
    const ProductAxes axes = product_axes<Schedule>(n);
    if (n > 0) {
      const ProductAxes before = product_axes<Schedule>(n - 1);
      if (with_signs && sign_changes_after<Schedule>(n - 1)) warp.change_sign();
      warp.change_lone_particle(before.particle, axes.particle);
      warp.change_lone_hole(before.hole, axes.hole);
    }
    warp.multiply(axes);
    for (const Term& term : terms) {
      if (term.kind == TermKind::hole_doubles && term.particle == axes.particle && term.hole == axes.hole) {
        done.push_back(term);
      }
    }
    ASSERT_EQ(done.size(), static_cast<std::size_t>(n) + 1);
    expect_elements(warp, axes, [&](const Element& e) {
      double sum = 0.0;
      for (const Term& term : done) {
        const int relative = with_signs ? term.sign * done.back().sign : 1;
        sum += relative * product_of({term.particle, term.hole}, e);
      }
      return sum;
    });
    if (::testing::Test::HasFatalFailure()) return;
  }
  EXPECT_EQ(final_sign<Schedule>, done.back().sign);
}

template <typename Schedule>
class ProductSchedule : public ::testing::Test {};
using Schedules = ::testing::Types<StandardSchedule, RoundSchedule, ReversedSchedule, ShuffledSchedule, ShortSchedule>;
TYPED_TEST_SUITE(ProductSchedule, Schedules);

TYPED_TEST(ProductSchedule, PutsTheProductsOfEveryElementIntoOneAccumulator) {
  for (const bool with_signs : {false, true}) {
    expect_sums_of_products<TypeParam, 4, 4, 2>(with_signs);
    expect_sums_of_products<TypeParam, 2, 4, 4>(with_signs);
    expect_sums_of_products<TypeParam, 2, 2, 2>(with_signs);
  }
}

TYPED_TEST(ProductSchedule, IsPackedForTheProducerWarp) {
  for (int n = 0; n < product_count<TypeParam>; ++n) {
    const ProductAxes axes = product_axes<TypeParam>(n), packed = PackedAxes<TypeParam>::at(n);
    EXPECT_EQ(packed.particle, axes.particle);
    EXPECT_EQ(packed.hole, axes.hole);
  }
}

TYPED_TEST(ProductSchedule, HasABitForEachSignThatIsNotTheLastOne) {
  for (int n = 0; n < product_count<TypeParam>; ++n) {
    const int sign = product_sign(product_axes<TypeParam>(n));
    EXPECT_EQ((other_signs<TypeParam>() >> n & 1) != 0 ? -sign : sign, final_sign<TypeParam>) << "product " << n;
  }
  EXPECT_EQ(other_signs<TypeParam>() >> product_count<TypeParam>, 0u);
}

TEST(ProductSchedules, KnowRounds) {
  EXPECT_TRUE(has_rounds<RoundSchedule>());
  EXPECT_FALSE(has_rounds<StandardSchedule>());
  EXPECT_FALSE(has_rounds<ShuffledSchedule>());
  EXPECT_FALSE(has_rounds<ShortSchedule>());
}

TEST(ProductSchedules, CountTheExchangesBetweenLanes) {
  EXPECT_EQ(lane_exchanges<RoundSchedule>(), 2);
  EXPECT_EQ(lane_exchanges<StandardSchedule>(), 2);
  EXPECT_EQ(lane_exchanges<ReversedSchedule>(), 2);
  EXPECT_EQ(lane_exchanges<ShuffledSchedule>(), 8);
  EXPECT_EQ(lane_exchanges<ShortSchedule>(), 0);
}

// Otherwise the tests above do not cover every exchange.
TEST(ProductSchedules, OfThisTestChangeEveryHoleToEveryOther) {
  std::set<std::pair<int, int>> seen;
  for (int n = 1; n < product_count<ShuffledSchedule>; ++n) {
    seen.insert({product_axes<ShuffledSchedule>(n - 1).hole, product_axes<ShuffledSchedule>(n).hole});
  }
  EXPECT_EQ(seen.size(), 6u);
}

TEST(ProductIndex, IsInvertedByAxesOfProduct) {
  for (int n = 0; n < products_per_target; ++n) {
    const ProductAxes axes = axes_of_product(n);
    EXPECT_TRUE(axes.particle >= 0 && axes.particle < 3 && axes.hole >= 0 && axes.hole < 3);
    EXPECT_EQ(product_index(axes.particle, axes.hole), n);
  }
}

}
}
