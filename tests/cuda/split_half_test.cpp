#include "cxx/cuda/schedule/split_half_units.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "tests/support/packed_panels.hpp"

/// Numbers that are scaled and split into two FP16 numbers: their bits, their scales, and their errors.
namespace trifuse::gpu {
namespace {

double high_of(double x) {
  return number_of(SplitHalf::slice_of(x, 0));
}
double sum_of_slices(double x) {
  return high_of(x) + number_of(SplitHalf::slice_of(x, 1));
}

// IEEE 754 binary16: sign, five bits of the exponent with bias 15, ten bits of the fraction.
TEST(SplitHalf, HasTheBitsOfFp16Numbers) {
  EXPECT_EQ(SplitHalf::bits_of(0.0), 0x0000);
  EXPECT_EQ(SplitHalf::bits_of(1.0), 0x3c00);
  EXPECT_EQ(SplitHalf::bits_of(-2.5), 0xc100);
  EXPECT_EQ(SplitHalf::bits_of(65504.0), 0x7bff);
  EXPECT_EQ(SplitHalf::bits_of(0x1p-14), 0x0400);
  EXPECT_EQ(SplitHalf::bits_of(0x1p-24), 0x0001);
  EXPECT_EQ(SplitHalf::bits_of(-0x3p-20), 0x8030);
  for (unsigned bits = 0; bits < 0x8000u; ++bits) {
    if (bits >> 10 == 31) continue;
    for (const unsigned sign : {0u, 0x8000u}) {
      const auto half = static_cast<std::uint16_t>(bits | sign);
      const double x = number_of(half);
      EXPECT_EQ(SplitHalf::nearest(x), x);
      EXPECT_EQ(SplitHalf::bits_of(x), half);
    }
  }
}

TEST(SplitHalf, RoundsToTheNearestNumberAndTiesToEven) {
  EXPECT_EQ(SplitHalf::nearest(2049.0), 2048.0);
  EXPECT_EQ(SplitHalf::nearest(2051.0), 2052.0);
  EXPECT_EQ(SplitHalf::nearest(-2049.5), -2050.0);
  EXPECT_EQ(SplitHalf::nearest(4095.9), 4096.0);
  EXPECT_EQ(SplitHalf::nearest(0x1p-25), 0.0);
  EXPECT_EQ(SplitHalf::nearest(0x3p-25), 0x1p-23);
  EXPECT_EQ(SplitHalf::nearest(0x1.8p-25), 0x1p-24);
}

TEST(SplitHalf, MakesNumbersWithoutAValueOfWhatItCannotHold) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (const double x : {65520.0, -1e30, infinity, -infinity, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_TRUE(std::isnan(SplitHalf::nearest(x))) << x;
    EXPECT_EQ(SplitHalf::slice_of(x, 0) & 0x7c00, 0x7c00) << x;
    EXPECT_NE(SplitHalf::slice_of(x, 0) & 0x03ff, 0) << x;
  }
}

// The error that split_half.hpp promises for numbers up to 2^15.
TEST(SplitHalf, KeepsTwentyTwoBits) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> exponent(-40.0, 15.0);
  double worst = 0.0, worst_of_high = 0.0;
  for (int n = 0; n < 100000; ++n) {
    const double x = std::exp2(exponent(random)) * (n % 2 == 0 ? 1.0 : -1.0);
    const double error = std::abs(sum_of_slices(x) - x);
    EXPECT_LE(error, std::max(0x1p-22 * std::abs(x), 0x1p-25)) << x;
    if (std::abs(x) > 1.0) {
      worst = std::max(worst, error / std::abs(x));
      worst_of_high = std::max(worst_of_high, std::abs(high_of(x) - x) / std::abs(x));
    }
  }
  EXPECT_GT(worst, 0x1p-25);
  EXPECT_GT(worst_of_high, 0x1p-12);
}

// In m16n8k16, lane 4 r + q reads A(r, 2 q), A(r + 8, 2 q), A(r, 2 q + 8), A(r + 8, 2 q + 8), each with its right
// neighbour, and B(2 q, r), B(2 q + 8, r), each with the number below it.
TEST(SplitHalf, GivesALaneItsOperandsInTheOrderOfRegisters) {
  for (int k_step = 0; k_step < SplitHalf::k_tile_steps; ++k_step) {
    for (int lane = 0; lane < 32; ++lane) {
      const int r = lane / 4, first_k = k_step * SplitHalf::k_step + lane % 4 * 2;
      for (int n = 0; n < 8; ++n) {
        const int odd = n % 2, k = first_k + n / 4 * 8 + odd;
        for (int slice = 0; slice < 2; ++slice) {
          EXPECT_EQ(SplitHalf::a_index(r + n / 2 % 2 * 8, k, slice), k_step * 512 + slice * 256 + 8 * lane + n);
          if (n >= 4) continue;
          EXPECT_EQ(SplitHalf::b_index(first_k + n / 2 * 8 + odd, r, slice), k_step * 256 + 8 * lane + 4 * slice + n);
        }
      }
    }
  }
}

/// A panel with three particles or pairs of particles, ragged holes, and `contracted` contracted indices.
Packing ragged(PanelKind kind, int contracted) {
  Packing p{};
  p.kind = kind;
  p.contracted = contracted;
  p.outer = kind == PanelKind::left ? 1 : 2;
  std::int64_t size = contracted + 3;
  for (const int q : {0, 3 - p.outer, p.outer}) {
    p.extent[q] = 5 + q;
    p.stride[q] = size;
    size *= p.extent[q];
  }
  p.outer_count = p.extent[p.outer];
  return p;
}
std::vector<double> numbers_of(const Packing& p) {
  std::vector<double> source(static_cast<std::size_t>(p.stride[p.outer] * p.extent[p.outer]));
  for (std::size_t n = 0; n < source.size(); ++n) source[n] = std::sin(1.0 + static_cast<double>(n));
  return source;
}

// The kernel reads the scale as a float.
TEST(SplitHalf, StoresScalesAsFloats) {
  for (const int shift : {-127, -1, 0, 5, 126}) {
    for (const bool larger : {false, true}) {
      const auto element = [&](int n) { return SplitHalf::scale_element(shift, larger, n); };
      const auto bits = std::uint32_t{element(1)} << 16 | element(0);
      EXPECT_EQ(static_cast<double>(std::bit_cast<float>(bits)), std::ldexp(larger ? 1.0 + 0x1p-23 : 1.0, -shift));
      for (int n = 2; n < SplitHalf::scale_elements; ++n) EXPECT_EQ(element(n), 0);
    }
  }
}

/// Panels whose numbers are scaled in groups.
template <typename Precision>
class ScaleGroupsIn : public ::testing::Test {};
struct ScaledPrecisionName {
  template <typename Precision>
  static std::string GetName(int) {
    return Precision::name;
  }
};
using ScaledPrecisions = ::testing::Types<SplitHalf, SplitHalfUnits, SplitHalfTransposed>;
TYPED_TEST_SUITE(ScaleGroupsIn, ScaledPrecisions, ScaledPrecisionName);

// The scale of a k-tile depends on its scale group only. So it makes no difference how a panel is cut into parts.
TYPED_TEST(ScaleGroupsIn, HaveTheSameNumbersInPartsOfAPanel) {
  for (const PanelKind kind : {PanelKind::left, PanelKind::right}) {
    for (const int outer : kind == PanelKind::left ? std::vector{1, 2} : std::vector{2}) {
      for (const int contracted : {1, 32, 33, 150}) {
        Packing whole = ragged(kind, contracted);
        std::swap(whole.stride[whole.outer], whole.stride[outer]);
        std::swap(whole.extent[whole.outer], whole.extent[outer]);
        whole.outer = outer;
        whole.outer_count = whole.extent[outer];
        const std::vector<double> source = numbers_of(whole);
        const auto expected = packed_panel<TypeParam>(whole, source.data());
        std::vector<std::uint16_t> found(expected.size(), 0xffff);
        for (int begin = 0; begin < whole.extent[outer]; begin += hole_group_size) {
          Packing part = whole;
          part.outer_begin = begin;
          part.outer_count = std::min(hole_group_size, whole.extent[outer] - begin);
          const double* const first = source.data() + begin * part.stride[outer];
          for (std::int64_t n = 0; n < scale_groups_of_part<TypeParam>(part); ++n) {
            pack_scale_group<TypeParam>(
                part, n, 0, 1, found.data(), [&](const PackedIndices& at) { return first[raw_offset(part, at)]; },
                [](double x) { return x; });
          }
        }
        EXPECT_TRUE(found == expected) << static_cast<int>(kind) << ", " << outer << ", " << contracted;
      }
    }
  }
}

/// The largest relative error of the numbers of a panel after it was packed.
template <typename Precision>
double error_after_packing(const Packing& p, const std::vector<double>& source) {
  const auto unpacked = unpacked_panel<Precision>(p, packed_panel<Precision>(p, source.data()));
  double worst = 0.0;
  for (std::size_t n = 0; n < unpacked.size(); ++n) {
    const auto k = static_cast<std::int32_t>(static_cast<std::int64_t>(n) % p.stride[0]);
    if (k >= p.contracted) continue;
    const double error = std::abs(unpacked[n] - source[n]);
    if (error > 0.0) worst = std::max(worst, error / std::abs(source[n]));
  }
  return worst;
}

TYPED_TEST(ScaleGroupsIn, KeepTheBitsOfSmallAndLargePanels) {
  for (const PanelKind kind : {PanelKind::left, PanelKind::right}) {
    const Packing p = ragged(kind, 150);
    for (const double factor : {0.0, 1e-30, 1e-3, 1.0, 1e3, 1e30}) {
      std::vector<double> source = numbers_of(p);
      for (double& x : source) x *= factor;
      EXPECT_LE(error_after_packing<TypeParam>(p, source), 0x1p-22) << factor;
    }
  }
}

// The first scale group has four k-steps. The last one has `last` contracted indices.
TYPED_TEST(ScaleGroupsIn, MakeUpForTruncationWhereThereAreManyKSteps) {
  for (const auto& [last, left_larger, right_larger] :
       {std::tuple{5, false, false}, {16, false, false}, {17, true, false}, {48, true, false}, {49, true, true}}) {
    for (const PanelKind kind : {PanelKind::left, PanelKind::right}) {
      const bool left = kind == PanelKind::left, larger = left ? left_larger : right_larger;
      const Packing p = ragged(kind, 64 + last);
      const auto packed = packed_panel<TypeParam>(p, numbers_of(p).data());
      const int k_tile = left ? TypeParam::a_k_tile : TypeParam::b_k_tile;
      for (std::int64_t n = 0; n < scale_groups_of_part<TypeParam>(p); ++n) {
        const ScaleGroup group = scale_group<TypeParam>(p, n);
        const std::int64_t scale = group.packed + k_tile - TypeParam::scale_elements;
        EXPECT_EQ(packed[static_cast<std::size_t>(scale)] == 1, group.contracted == 0 || larger) << last;
      }
    }
  }
}

// Amplitudes behind integrals: the first 64 contracted indices are larger than the others by 1e12.
TYPED_TEST(ScaleGroupsIn, KeepTheBitsOfSmallNumbersBesideLargeOnes) {
  for (const PanelKind kind : {PanelKind::left, PanelKind::right}) {
    const Packing p = ragged(kind, 150);
    std::vector<double> source = numbers_of(p);
    for (std::size_t n = 0; n < source.size(); ++n) {
      if (static_cast<std::int64_t>(n) % p.stride[0] >= TypeParam::scaled_k_tiles * TypeParam::k_tile_depth) {
        source[n] *= 1e-12;
      }
    }
    EXPECT_LE(error_after_packing<TypeParam>(p, source), 0x1p-22);
  }
}

}
}
