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

TEST(Chunks, HoldEveryElementOfAOnce) {
  std::vector<int> seen(at(Fp64::a_chunk), 0);
  for (int row = 0; row < Fp64::rows; ++row) {
    for (int k = 0; k < Fp64::depth; ++k) {
      const int element = Fp64::a_index(row, k);
      ASSERT_TRUE(element >= 0 && element < Fp64::a_chunk) << row << ", " << k;
      ++seen[at(element)];
      EXPECT_EQ(Fp64::a_row(element), row);
      EXPECT_EQ(Fp64::a_inner(element), k);
    }
  }
  EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), Fp64::a_chunk);
}

TEST(Chunks, HoldEveryElementOfBOnce) {
  std::vector<int> seen(at(Fp64::b_chunk), 0);
  for (int column = 0; column < Fp64::columns; ++column) {
    for (int k = 0; k < Fp64::depth; ++k) {
      const int element = Fp64::b_index(k, column);
      ASSERT_TRUE(element >= 0 && element < Fp64::b_chunk) << k << ", " << column;
      ++seen[at(element)];
      EXPECT_EQ(Fp64::b_column(element), column);
      EXPECT_EQ(Fp64::b_inner(element), k);
    }
  }
  EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), Fp64::b_chunk);
}

// Lane 4 r + q of m16n8k8 wants (r, q), (r + 8, q) of A and then the same at q + 4, and (q, r), (q + 4, r) of B.
TEST(Chunks, GiveALaneItsNumbersInPairs) {
  for (int step = 0; step < Fp64::chunk_steps; ++step) {
    for (int lane = 0; lane < 32; ++lane) {
      const int r = lane / 4, q = lane % 4, k = step * Fp64::step + q;
      EXPECT_EQ(Fp64::a_index(r, k), step * 128 + 2 * lane);
      EXPECT_EQ(Fp64::a_index(r + 8, k), step * 128 + 2 * lane + 1);
      EXPECT_EQ(Fp64::a_index(r, k + 4), step * 128 + 64 + 2 * lane);
      EXPECT_EQ(Fp64::b_index(k, r), step * 64 + 2 * lane);
      EXPECT_EQ(Fp64::b_index(k + 4, r), step * 64 + 2 * lane + 1);
    }
  }
}

/// A panel of random shape. Positions stand in the raw data in a random order with gaps between, `outer` slowest.
class RandomPacking {
 public:
  RandomPacking(PanelKind kind, bool swapped, std::mt19937& random) : random_(random) {
    packing_.kind = kind;
    packing_.inner = kind == PanelKind::pairs ? 1 : draw(1, 40);
    packing_.outer = kind == PanelKind::left ? 1 : 2;
    // The host stores one order of two holes; in the other one the slowest comes second.
    if (swapped && kind != PanelKind::right) ++packing_.outer;
    const int positions = kind == PanelKind::pairs ? 4 : 3;
    std::vector<int> order;
    for (int q = 0; q < positions; ++q) {
      packing_.extent[q] = draw(1, 9);
      if (q != packing_.outer) order.push_back(q);
    }
    std::shuffle(order.begin(), order.end(), random_);
    order.push_back(packing_.outer);
    std::int64_t stride = packing_.inner + draw(0, 7);
    for (const int q : order) {
      packing_.stride[q] = stride;
      stride *= packing_.extent[q];
    }
    packing_.outer_count = packing_.extent[packing_.outer];
  }

  const Packing& whole() const { return packing_; }

  /// The same panel with its raw data at hand in pieces of some blocks.
  std::vector<Packing> pieces() {
    std::vector<Packing> pieces;
    const int outer = packing_.extent[packing_.outer];
    for (int begin = 0; begin < outer;) {
      const int count = std::min(draw(1, 2) * hole_block, outer - begin);
      Packing piece = packing_;
      piece.outer_begin = begin;
      piece.outer_count = count;
      pieces.push_back(piece);
      begin += count;
    }
    return pieces;
  }

 private:
  int draw(int least, int most) { return std::uniform_int_distribution<int>(least, most)(random_); }

  Packing packing_{};
  std::mt19937& random_;
};

/// Where the places of a packed panel come from in the raw data, by the index maps that kernels use; -1: nothing.
std::vector<std::int64_t> expected_sources(const Packing& p) {
  std::vector<std::int64_t> from(at(packed_size<Fp64>(p)), -1);
  const auto& n = p.extent;
  const std::int64_t inner_chunks = chunks<Fp64>(p.inner);
  const auto put = [&](std::int64_t place, std::int64_t raw) {
    ASSERT_TRUE(place >= 0 && at(place) < from.size());
    ASSERT_EQ(from[at(place)], -1) << "two elements share a place";
    from[at(place)] = raw;
  };
  const int fourth = p.kind == PanelKind::pairs ? n[3] : 1;
  for (int x = 0; x < n[0]; ++x)
    for (int y = 0; y < n[1]; ++y)
      for (int z = 0; z < n[2]; ++z)
        for (int w = 0; w < fourth; ++w)
          for (int k = 0; k < p.inner; ++k) {
            const std::int64_t raw = x * p.stride[0] + y * p.stride[1] + z * p.stride[2] + w * p.stride[3] + k;
            const int chunk = k / Fp64::depth, in_chunk = k % Fp64::depth;
            switch (p.kind) {
              case PanelKind::left:  // (p, h, h')
                put(left_chunk<Fp64>(y / hole_block, blocks(n[2], hole_block), z / hole_block, inner_chunks, chunk,
                                     n[0], x) +
                        Fp64::a_index(y % hole_block * hole_block + z % hole_block, in_chunk),
                    raw);
                break;
              case PanelKind::right:  // (p, p', h)
                put(right_chunk<Fp64>(z / hole_block, inner_chunks, chunk, n[0], x, blocks(n[1], pair), y / pair) +
                        Fp64::b_index(in_chunk, z % hole_block * pair + y % pair),
                    raw);
                break;
              case PanelKind::pairs:  // (p, p', h, h')
                put(pair_block(z / hole_block, blocks(n[3], hole_block), w / hole_block, n[0], x, n[1], y) +
                        z % hole_block * hole_block + w % hole_block,
                    raw);
                break;
            }
          }
  return from;
}

class PackingOf : public ::testing::TestWithParam<PanelKind> {};

TEST_P(PackingOf, APanelPutsEveryElementIntoItsPlaceAndZerosElsewhere) {
  std::mt19937 random(7);
  for (int n = 0; n < 60; ++n) {
    RandomPacking panel(GetParam(), n % 2 == 1, random);
    const auto expected = expected_sources(panel.whole());
    std::vector<std::int64_t> found(expected.size(), -1);
    std::vector<int> seen(expected.size(), 0);
    std::int64_t total = 0;
    for (const Packing& piece : panel.pieces()) {
      const std::int64_t count = packed_size_at_hand<Fp64>(piece);
      total += count;
      for (std::int64_t e = 0; e < count; ++e) {
        const PackedElement element = packed_element<Fp64>(piece, e);
        ASSERT_TRUE(element.packed >= 0 && at(element.packed) < found.size());
        ++seen[at(element.packed)];
        if (element.raw < 0) continue;
        // A piece's raw data begin with its own first index.
        ASSERT_LT(element.raw, piece.outer_count * piece.stride[piece.outer]);
        found[at(element.packed)] = element.raw + piece.outer_begin * piece.stride[piece.outer];
      }
    }
    EXPECT_EQ(total, packed_size<Fp64>(panel.whole()));
    ASSERT_EQ(std::count(seen.begin(), seen.end(), 1), static_cast<std::ptrdiff_t>(seen.size())) << "panel " << n;
    ASSERT_EQ(found, expected) << "panel " << n;
  }
}

std::string name_of(PanelKind kind) {
  return kind == PanelKind::left ? "LeftPanels" : kind == PanelKind::right ? "RightPanels" : "Pairs";
}
INSTANTIATE_TEST_SUITE_P(Every, PackingOf, ::testing::Values(PanelKind::left, PanelKind::right, PanelKind::pairs),
                         [](const auto& test) { return name_of(test.param); });

}  // namespace
}  // namespace trifuse::gpu
