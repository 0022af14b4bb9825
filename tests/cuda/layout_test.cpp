#include "cxx/cuda/schedule/layout.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "cxx/cuda/schedule/split_half_units.hpp"
#include "tests/support/float_slices.hpp"
#include "tests/support/packed_panels.hpp"

namespace trifuse::gpu {
namespace {

std::size_t to_size(std::int64_t n) {
  return static_cast<std::size_t>(n);
}

/// Tests of the layout in one precision.
template <typename Precision>
class KTilesIn : public ::testing::Test {};
using Precisions = ::testing::Types<Fp64, SplitHalf, SplitHalfUnits, SplitHalfTransposed, Fp32, TwoFloats>;
struct PrecisionName {
  template <typename Precision>
  static std::string GetName(int) {
    return Precision::name;
  }
};
TYPED_TEST_SUITE(KTilesIn, Precisions, PrecisionName);

/// Lines of a unit of B.
template <typename Precision>
constexpr int lines_of_b = Precision::b_first* Precision::b_second* hole_group_size;

TYPED_TEST(KTilesIn, HoldEveryElementOfAOnce) {
  using Precision = TypeParam;
  std::vector<int> seen(to_size(Precision::a_k_tile), 0);
  for (int row = 0; row < Precision::a_particles * Precision::rows; ++row) {
    for (int k = 0; k < Precision::k_tile_depth; ++k) {
      for (int slice = 0; slice < Precision::slices; ++slice) {
        const int element = Precision::a_index(row, k, slice);
        ASSERT_TRUE(element >= 0 && element < Precision::a_k_tile) << row << ", " << k;
        ++seen[to_size(element)];
        EXPECT_EQ(Precision::a_row(element), row);
        EXPECT_EQ(Precision::a_contracted(element), k);
        EXPECT_EQ(Precision::a_slice(element), slice);
      }
    }
  }
  EXPECT_EQ(std::count(seen.begin(), seen.end() - Precision::scale_elements, 1),
            Precision::a_k_tile - Precision::scale_elements);
}

TYPED_TEST(KTilesIn, HoldEveryElementOfBOnce) {
  using Precision = TypeParam;
  std::vector<int> seen(to_size(Precision::b_k_tile), 0);
  for (int column = 0; column < lines_of_b<Precision>; ++column) {
    for (int k = 0; k < Precision::k_tile_depth; ++k) {
      for (int slice = 0; slice < Precision::slices; ++slice) {
        const int element = Precision::b_index(k, column, slice);
        ASSERT_TRUE(element >= 0 && element < Precision::b_k_tile) << k << ", " << column;
        ++seen[to_size(element)];
        EXPECT_EQ(Precision::b_column(element), column);
        EXPECT_EQ(Precision::b_contracted(element), k);
        EXPECT_EQ(Precision::b_slice(element), slice);
      }
    }
  }
  EXPECT_EQ(std::count(seen.begin(), seen.end() - Precision::scale_elements, 1),
            Precision::b_k_tile - Precision::scale_elements);
}

// In wgmma, 8 lines of 8 contracted indices follow each other. Lines of B are (p', pair of p, h, p).
TEST(KTiles, ConsistOfCoreMatricesIfWarpsMultiplyTogether) {
  using Blocks = SplitHalfUnits;
  for (int line = 0; line < Blocks::lines; ++line) {
    for (int k = 0; k < Blocks::k_tile_depth; ++k) {
      for (int slice = 0; slice < 2; ++slice) {
        const int bytes = line / 8 * Blocks::line_core_bytes + k / 16 * 2 * Blocks::slice_bytes +
                          slice * Blocks::slice_bytes + k % 16 / 8 * Blocks::k_core_bytes + line % 8 * 16 + k % 8 * 2;
        EXPECT_EQ(2 * Blocks::a_index(line, k, slice), bytes);
        EXPECT_EQ(2 * Blocks::b_index(k, line, slice), bytes);
      }
    }
    const UnitLine of_b = Blocks::b_line(line);
    EXPECT_EQ(((of_b.second * 2 + of_b.first / 2) * 4 + of_b.hole) * 2 + of_b.first % 2, line);
  }
  EXPECT_EQ(Blocks::k_core_bytes, 128);
  EXPECT_EQ(Blocks::data_bytes, 8 * Blocks::line_core_bytes);
}

// In the transposed layout the core matrices of all k follow each other with one stride, for each slice.
TEST(KTiles, HaveOneStrideAlongTheContractedIndexIfTransposed) {
  using Blocks = SplitHalfTransposed;
  for (int line = 0; line < Blocks::lines; ++line) {
    for (int k = 0; k < Blocks::k_tile_depth; ++k) {
      for (int slice = 0; slice < 2; ++slice) {
        const int bytes = slice * Blocks::slice_bytes + k / 8 * Blocks::k_core_bytes +
                          line / 8 * Blocks::line_core_bytes + line % 8 * 16 + k % 8 * 2;
        EXPECT_EQ(2 * Blocks::a_index(line, k, slice), bytes);
        EXPECT_EQ(2 * Blocks::b_index(k, line, slice), bytes);
      }
    }
  }
  EXPECT_EQ(2 * Blocks::slice_bytes, Blocks::data_bytes);
  EXPECT_EQ(Blocks::data, SplitHalfUnits::data);
}

// In m16n8k8, lane 4 r + q reads A(r, q), A(r + 8, q), A(r, q + 4), A(r + 8, q + 4) and B(q, r), B(q + 4, r).
TEST(KTiles, GiveALaneItsOperandsInPairs) {
  for (int step = 0; step < Fp64::k_tile_steps; ++step) {
    for (int lane = 0; lane < 32; ++lane) {
      const int r = lane / 4, q = lane % 4, k = step * Fp64::k_step + q;
      const int place = Fp64::place_of_lane(lane);
      EXPECT_EQ(Fp64::a_index(r, k, 0), step * 128 + 2 * place);
      EXPECT_EQ(Fp64::a_index(r + 8, k, 0), step * 128 + 2 * place + 1);
      EXPECT_EQ(Fp64::a_index(r, k + 4, 0), step * 128 + 64 + 2 * place);
      EXPECT_EQ(Fp64::b_index(k, r, 0), step * 64 + 2 * place);
      EXPECT_EQ(Fp64::b_index(k + 4, r, 0), step * 64 + 2 * place + 1);
    }
  }
}

// Eight lanes load 16 bytes each at a time, from eight banks of 16 bytes: those of a row of a fragment's operands, or,
// as the backward kernel does, those of four rows or columns and two contracted indices.
TEST(KTiles, AreLoadedWithoutBankConflicts) {
  for (int eight = 0; eight < 32; eight += 8) {
    std::vector<bool> straight(8), transposed(8);
    for (int lane = eight; lane < eight + 8; ++lane) {
      const int r = lane / 4, q = lane % 4;
      straight[to_size(Fp64::place_of_lane(lane) % 8)] = true;
      transposed[to_size(Fp64::b_index(r, q, 0) / 2 % 8)] = true;
      EXPECT_EQ(Fp64::b_index(r, q, 0) / 2 % 8, Fp64::a_index(q, r, 0) / 2 % 8);
    }
    EXPECT_EQ(std::count(straight.begin(), straight.end(), true), 8);
    EXPECT_EQ(std::count(transposed.begin(), transposed.end(), true), 8);
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
      const int count = std::min(draw(1, 2) * hole_group_size, outer - begin);
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

/// The source of an element of a packed panel.
struct Source {
  std::int64_t raw = -1;  ///< offset in the source; -1: the element is zero
  int slice = 0;
  bool operator==(const Source&) const = default;
};

/// The line of a unit of B with these particles and this hole.
template <typename Precision>
int line_of_b(const UnitLine& wanted) {
  for (int line = 0; line < lines_of_b<Precision>; ++line) {
    const UnitLine of_b = Precision::b_line(line);
    if (of_b.first == wanted.first && of_b.second == wanted.second && of_b.hole == wanted.hole) return line;
  }
  ADD_FAILURE() << "a unit of B lacks a line";
  return 0;
}

/// For each element of a packed panel its source, from the index maps that kernels use.
template <typename Precision>
std::vector<Source> expected_sources(const Packing& p) {
  std::vector<Source> from(to_size(packed_size<Precision>(p)));
  const auto& n = p.extent;
  const std::int64_t k_tiles = k_tile_count<Precision>(p.contracted);
  const auto put = [&](std::int64_t offset, std::int64_t raw, int slice) {
    ASSERT_TRUE(offset >= 0 && to_size(offset) < from.size());
    ASSERT_EQ(from[to_size(offset)].raw, -1) << "two elements have the same offset";
    from[to_size(offset)] = {raw, slice};
  };
  const int fourth = p.kind == PanelKind::vvoo ? n[3] : 1;
  for (int x = 0; x < n[0]; ++x)
    for (int y = 0; y < n[1]; ++y)
      for (int z = 0; z < n[2]; ++z)
        for (int w = 0; w < fourth; ++w)
          for (int k = 0; k < p.contracted; ++k) {
            const std::int64_t raw = x * p.stride[0] + y * p.stride[1] + z * p.stride[2] + w * p.stride[3] + k;
            const int k_tile = k / Precision::k_tile_depth, in_k_tile = k % Precision::k_tile_depth;
            if (p.kind == PanelKind::vvoo) {  // (p, p', h, h')
              put(vvoo_block(z / hole_group_size, ceil_div(n[3], hole_group_size), w / hole_group_size, n[0], x, n[1],
                             y) +
                      z % hole_group_size * hole_group_size + w % hole_group_size,
                  raw, 0);
              continue;
            }
            for (int slice = 0; slice < Precision::slices; ++slice) {
              if (p.kind == PanelKind::left) {  // (p, h, h')
                constexpr int particles = Precision::a_particles;
                const int row =
                    (x % particles * hole_group_size + y % hole_group_size) * hole_group_size + z % hole_group_size;
                put(left_k_tile<Precision>(y / hole_group_size, ceil_div(n[2], hole_group_size), z / hole_group_size,
                                           k_tiles, k_tile, ceil_div(n[0], particles), x / particles) +
                        Precision::a_index(row, in_k_tile, slice),
                    raw, slice);
              } else {  // (p, p', h)
                constexpr int first = Precision::b_first, second = Precision::b_second;
                const int line = line_of_b<Precision>({x % first, y % second, z % hole_group_size});
                put(right_k_tile<Precision>(z / hole_group_size, k_tiles, k_tile, ceil_div(n[0], first), x / first,
                                            ceil_div(n[1], second), y / second) +
                        Precision::b_index(in_k_tile, line, slice),
                    raw, slice);
              }
            }
          }
  return from;
}

template <typename Precision>
void expect_packing(PanelKind kind) {
  std::mt19937 random(7);
  for (int n = 0; n < 60; ++n) {
    RandomPacking panel(kind, n % 2 == 1, random);
    const auto expected = expected_sources<Precision>(panel.whole());
    std::vector<Source> found(expected.size());
    std::vector<int> seen(expected.size(), 0);
    std::int64_t total = 0;
    for (const Packing& part : panel.parts()) {
      const std::int64_t count = packed_size_of_part<Precision>(part);
      total += count;
      for (std::int64_t e = 0; e < count; ++e) {
        const PackedElement element = packed_element<Precision>(part, e);
        ASSERT_TRUE(element.packed >= 0 && to_size(element.packed) < found.size());
        ++seen[to_size(element.packed)];
        if (element.raw < 0) continue;
        // The source of a part begins with the part's first hole.
        ASSERT_LT(element.raw, part.outer_count * part.stride[part.outer]);
        found[to_size(element.packed)] = {element.raw + part.outer_begin * part.stride[part.outer], element.slice};
      }
    }
    EXPECT_EQ(total, packed_size<Precision>(panel.whole()));
    ASSERT_EQ(std::count(seen.begin(), seen.end(), 1), static_cast<std::ptrdiff_t>(seen.size())) << "panel " << n;
    ASSERT_TRUE(found == expected) << "panel " << n;
  }
}

TYPED_TEST(KTilesIn, HaveEveryElementOfAPanelAtItsOffsetAndZerosElsewhere) {
  expect_packing<TypeParam>(PanelKind::left);
  expect_packing<TypeParam>(PanelKind::right);
}

TEST(VvooBlocks, HaveEveryElementAtItsOffsetAndZerosElsewhere) {
  expect_packing<Fp64>(PanelKind::vvoo);
}

}
}
