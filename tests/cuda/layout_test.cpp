#include "cxx/cuda/schedule/layout.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace trifuse::gpu {
namespace {

std::size_t at(std::int64_t n) {
  return static_cast<std::size_t>(n);
}

TEST(KTiles, HoldEveryElementOfAOnce) {
  std::vector<int> seen(at(Fp64::a_k_tile), 0);
  for (int row = 0; row < Fp64::rows; ++row) {
    for (int k = 0; k < Fp64::k_tile_depth; ++k) {
      const int element = Fp64::a_index(row, k);
      ASSERT_TRUE(element >= 0 && element < Fp64::a_k_tile) << row << ", " << k;
      ++seen[at(element)];
      EXPECT_EQ(Fp64::a_row(element), row);
      EXPECT_EQ(Fp64::a_contracted(element), k);
    }
  }
  EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), Fp64::a_k_tile);
}

TEST(KTiles, HoldEveryElementOfBOnce) {
  std::vector<int> seen(at(Fp64::b_k_tile), 0);
  for (int column = 0; column < Fp64::columns; ++column) {
    for (int k = 0; k < Fp64::k_tile_depth; ++k) {
      const int element = Fp64::b_index(k, column);
      ASSERT_TRUE(element >= 0 && element < Fp64::b_k_tile) << k << ", " << column;
      ++seen[at(element)];
      EXPECT_EQ(Fp64::b_column(element), column);
      EXPECT_EQ(Fp64::b_contracted(element), k);
    }
  }
  EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), Fp64::b_k_tile);
}

// In m16n8k8, lane 4 r + q reads A(r, q), A(r + 8, q), A(r, q + 4), A(r + 8, q + 4) and B(q, r), B(q + 4, r).
TEST(KTiles, GiveALaneItsOperandsInPairs) {
  for (int step = 0; step < Fp64::k_tile_steps; ++step) {
    for (int lane = 0; lane < 32; ++lane) {
      const int r = lane / 4, q = lane % 4, k = step * Fp64::k_step + q;
      EXPECT_EQ(Fp64::a_index(r, k), step * 128 + 2 * lane);
      EXPECT_EQ(Fp64::a_index(r + 8, k), step * 128 + 2 * lane + 1);
      EXPECT_EQ(Fp64::a_index(r, k + 4), step * 128 + 64 + 2 * lane);
      EXPECT_EQ(Fp64::b_index(k, r), step * 64 + 2 * lane);
      EXPECT_EQ(Fp64::b_index(k + 4, r), step * 64 + 2 * lane + 1);
    }
  }
}

/// A panel of random shape. In the source its positions have a random order, with gaps between rows; `outer` is the
/// slowest.
class RandomPacking {
 public:
  RandomPacking(PanelKind kind, bool swapped, std::mt19937& random) : random_(random) {
    packing_.kind = kind;
    packing_.contracted = kind == PanelKind::vvoo ? 1 : draw(1, 40);
    packing_.outer = kind == PanelKind::left ? 1 : 2;
    // The host stores two holes in one order. If the positions have the other order, the slowest one comes second.
    if (swapped && kind != PanelKind::right) ++packing_.outer;
    const int positions = kind == PanelKind::vvoo ? 4 : 3;
    std::vector<int> order;
    for (int q = 0; q < positions; ++q) {
      packing_.extent[q] = draw(1, 9);
      if (q != packing_.outer) order.push_back(q);
    }
    std::shuffle(order.begin(), order.end(), random_);
    order.push_back(packing_.outer);
    std::int64_t stride = packing_.contracted + draw(0, 7);
    for (const int q : order) {
      packing_.stride[q] = stride;
      stride *= packing_.extent[q];
    }
    packing_.outer_count = packing_.extent[packing_.outer];
  }

  const Packing& whole() const { return packing_; }

  /// The same panel in parts of one or two blocks of `outer`.
  std::vector<Packing> parts() {
    std::vector<Packing> parts;
    const int outer = packing_.extent[packing_.outer];
    for (int begin = 0; begin < outer;) {
      const int count = std::min(draw(1, 2) * hole_block, outer - begin);
      Packing part = packing_;
      part.outer_begin = begin;
      part.outer_count = count;
      parts.push_back(part);
      begin += count;
    }
    return parts;
  }

 private:
  int draw(int least, int most) { return std::uniform_int_distribution<int>(least, most)(random_); }

  Packing packing_{};
  std::mt19937& random_;
};

/// For each element of a packed panel its offset in the source, from the index maps that kernels use; -1: zero.
std::vector<std::int64_t> expected_sources(const Packing& p) {
  std::vector<std::int64_t> from(at(packed_size<Fp64>(p)), -1);
  const auto& n = p.extent;
  const std::int64_t k_tiles = k_tile_count<Fp64>(p.contracted);
  const auto put = [&](std::int64_t offset, std::int64_t raw) {
    ASSERT_TRUE(offset >= 0 && at(offset) < from.size());
    ASSERT_EQ(from[at(offset)], -1) << "two elements have the same offset";
    from[at(offset)] = raw;
  };
  const int fourth = p.kind == PanelKind::vvoo ? n[3] : 1;
  for (int x = 0; x < n[0]; ++x)
    for (int y = 0; y < n[1]; ++y)
      for (int z = 0; z < n[2]; ++z)
        for (int w = 0; w < fourth; ++w)
          for (int k = 0; k < p.contracted; ++k) {
            const std::int64_t raw = x * p.stride[0] + y * p.stride[1] + z * p.stride[2] + w * p.stride[3] + k;
            const int k_tile = k / Fp64::k_tile_depth, in_k_tile = k % Fp64::k_tile_depth;
            switch (p.kind) {
              case PanelKind::left:  // (p, h, h')
                put(left_k_tile<Fp64>(y / hole_block, ceil_div(n[2], hole_block), z / hole_block, k_tiles, k_tile, n[0],
                                      x) +
                        Fp64::a_index(y % hole_block * hole_block + z % hole_block, in_k_tile),
                    raw);
                break;
              case PanelKind::right:  // (p, p', h)
                put(right_k_tile<Fp64>(z / hole_block, k_tiles, k_tile, n[0], x, ceil_div(n[1], particle_pair),
                                       y / particle_pair) +
                        Fp64::b_index(in_k_tile, z % hole_block * particle_pair + y % particle_pair),
                    raw);
                break;
              case PanelKind::vvoo:  // (p, p', h, h')
                put(vvoo_block(z / hole_block, ceil_div(n[3], hole_block), w / hole_block, n[0], x, n[1], y) +
                        z % hole_block * hole_block + w % hole_block,
                    raw);
                break;
            }
          }
  return from;
}

class PackingOf : public ::testing::TestWithParam<PanelKind> {};

TEST_P(PackingOf, APanelPutsEveryElementAtItsOffsetAndZerosElsewhere) {
  std::mt19937 random(7);
  for (int n = 0; n < 60; ++n) {
    RandomPacking panel(GetParam(), n % 2 == 1, random);
    const auto expected = expected_sources(panel.whole());
    std::vector<std::int64_t> found(expected.size(), -1);
    std::vector<int> seen(expected.size(), 0);
    std::int64_t total = 0;
    for (const Packing& part : panel.parts()) {
      const std::int64_t count = packed_size_of_part<Fp64>(part);
      total += count;
      for (std::int64_t e = 0; e < count; ++e) {
        const PackedElement element = packed_element<Fp64>(part, e);
        ASSERT_TRUE(element.packed >= 0 && at(element.packed) < found.size());
        ++seen[at(element.packed)];
        if (element.raw < 0) continue;
        // The source of a part begins with the part's first hole.
        ASSERT_LT(element.raw, part.outer_count * part.stride[part.outer]);
        found[at(element.packed)] = element.raw + part.outer_begin * part.stride[part.outer];
      }
    }
    EXPECT_EQ(total, packed_size<Fp64>(panel.whole()));
    ASSERT_EQ(std::count(seen.begin(), seen.end(), 1), static_cast<std::ptrdiff_t>(seen.size())) << "panel " << n;
    ASSERT_EQ(found, expected) << "panel " << n;
  }
}

std::string name_of(PanelKind kind) {
  return kind == PanelKind::left ? "LeftPanels" : kind == PanelKind::right ? "RightPanels" : "VvooBlocks";
}
INSTANTIATE_TEST_SUITE_P(Every, PackingOf, ::testing::Values(PanelKind::left, PanelKind::right, PanelKind::vvoo),
                         [](const auto& test) { return name_of(test.param); });

}  // namespace
}  // namespace trifuse::gpu
