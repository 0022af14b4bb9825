#include "cxx/cuda/schedule/cta_tiles.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <vector>

namespace trifuse::gpu {
namespace {

std::size_t at(std::int64_t n) {
  return static_cast<std::size_t>(n);
}

/// The shapes of the compiled kernels, with matrix instructions and without.
constexpr int a_k_tile_bytes = Fp64::a_k_tile * 8, b_k_tile_bytes = Fp64::b_k_tile * 8;
constexpr Shape bulk_shape(int a, int b, int c) {
  return {{a, b, c}, 8, 40960, a_k_tile_bytes, b_k_tile_bytes, 49152, 24};
}
const std::array<Shape, 4> shapes = {bulk_shape(4, 4, 2), bulk_shape(4, 2, 4), bulk_shape(2, 4, 4),
                                     Shape{{2, 2, 2}, 8, 40960, a_k_tile_bytes, b_k_tile_bytes, 0, 24}};

/// Particles of a CTA tile along position `q`, those beyond the end of the orbital tile included.
int particles(const Shape& shape, const CtaParticles& part, std::size_t q) {
  return part.warps[q] * shape.warp_tile[q];
}

void expect_cover(const Shape& shape, CtaTiling& tiling, const std::array<int, 3>& extent) {
  SCOPED_TRACE(std::to_string(extent[0]) + " x " + std::to_string(extent[1]) + " x " + std::to_string(extent[2]));
  std::array<int, 3> n{};
  for (std::size_t q = 0; q < 3; ++q) n[q] = (extent[q] + shape.warp_tile[q] - 1) / shape.warp_tile[q];
  std::vector<int> seen(at(n[0] * n[1] * n[2]), 0);
  for (const CtaParticles& part : tiling.tiles(extent)) {
    ASSERT_GT(*std::min_element(part.warps.begin(), part.warps.end()), 0);
    EXPECT_LE(part.warps[0] * part.warps[1] * part.warps[2], shape.warps);
    EXPECT_LE(stage_bytes(shape, part.warps), shape.stage_bytes);
    EXPECT_TRUE(fits(shape, part.warps));
    EXPECT_LE(particles(shape, part, 0) + particles(shape, part, 1) + particles(shape, part, 2), shape.cta_particles);
    std::array<int, 3> first{};
    for (std::size_t q = 0; q < 3; ++q) {
      ASSERT_EQ(part.first[q] % shape.warp_tile[q], 0);
      first[q] = part.first[q] / shape.warp_tile[q];
      ASSERT_LE(first[q] + part.warps[q], n[q]) << "a warp tile lies outside the orbital tile";
    }
    for (int x = first[0]; x < first[0] + part.warps[0]; ++x)
      for (int y = first[1]; y < first[1] + part.warps[1]; ++y)
        for (int z = first[2]; z < first[2] + part.warps[2]; ++z) ++seen[at((x * n[1] + y) * n[2] + z)];
  }
  EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), static_cast<std::ptrdiff_t>(seen.size()));
}

TEST(CtaTiling, CoversEveryWarpTileOnce) {
  std::mt19937 random(3);
  for (const Shape& shape : shapes) {
    CtaTiling tiling(shape);
    for (int n = 1; n <= 24; ++n) expect_cover(shape, tiling, {n, n, n});
    std::uniform_int_distribution<int> small(1, 24), large(40, 200);
    for (int n = 0; n < 200; ++n) expect_cover(shape, tiling, {small(random), small(random), small(random)});
    for (int n = 0; n < 5; ++n) expect_cover(shape, tiling, {large(random), large(random), large(random)});
    for (int n = 0; n < 5; ++n) expect_cover(shape, tiling, {large(random), small(random), large(random)});
  }
}

// A task goes to the kernel whose warp tiles cover its particles best.
TEST(ShapeSelector, FollowsTheExtents) {
  ShapeSelector choice({shapes[0], shapes[1], shapes[2]});
  EXPECT_EQ(choice.best({16, 16, 16}), 0u) << "the first of equals";
  EXPECT_EQ(choice.best({8, 8, 6}), 0u);
  EXPECT_EQ(choice.best({8, 6, 8}), 1u);
  EXPECT_EQ(choice.best({6, 8, 8}), 2u);
  EXPECT_EQ(choice.best({2, 16, 16}), 2u);
  for (std::size_t n = 0; n < 3; ++n) {
    CtaTiling alone(shapes[n]);
    EXPECT_EQ(choice.tiling(n).cost({6, 10, 14}), alone.cost({6, 10, 14}));
  }
}

// Ragged ends get CTA tiles of another shape, so the cost is close to the number of particles.
TEST(CtaTiling, CostsAboutAsMuchAsTheVolume) {
  const Shape& shape = shapes[0];
  CtaTiling tiling(shape);
  const double full_tile = shape.warps * shape.warp_tile[0] * shape.warp_tile[1] * shape.warp_tile[2];
  const auto relative_cost = [&](const std::array<int, 3>& extent) {
    return tiling.cost(extent) * full_tile / (extent[0] * extent[1] * extent[2]);
  };
  for (const auto& extent : std::vector<std::array<int, 3>>{{8, 8, 8},
                                                            {16, 16, 16},
                                                            {20, 20, 20},
                                                            {24, 24, 24},
                                                            {28, 28, 28},
                                                            {32, 32, 32},
                                                            {20, 28, 32},
                                                            {28, 20, 16}}) {
    EXPECT_GE(relative_cost(extent), 0.98) << extent[0] << ", " << extent[1] << ", " << extent[2];
    EXPECT_LE(relative_cost(extent), 1.1) << extent[0] << ", " << extent[1] << ", " << extent[2];
  }
}

TEST(CtaTiling, CountsAFullTileAsAboutOne) {
  for (const Shape& shape : shapes) {
    const CtaTiling tiling(shape);
    EXPECT_NEAR(tiling.cta_tile_cost({2, 2, 2}), 1.0, 0.02);
    EXPECT_LT(tiling.cta_tile_cost({1, 2, 2}), tiling.cta_tile_cost({2, 2, 2}));
  }
}

/// [a, b, c, i, j, k] How often the CTA tiles of a task cover each of its elements.
std::vector<int> times_covered(const TaskData& task, const Shape& shape, const std::vector<CtaTile>& cta_tiles) {
  const auto& n = task.extent;
  std::vector<int> times(at(std::int64_t{n[0]} * n[1] * n[2] * n[3] * n[4] * n[5]), 0);
  for (const CtaTile& cta_tile : cta_tiles) {
    std::array<int, 6> begin{}, end{};
    for (std::size_t q = 0; q < 3; ++q) {
      begin[q] = cta_tile.particle[q];
      end[q] = std::min(begin[q] + cta_tile.warps[q] * shape.warp_tile[q], n[q]);
      begin[3 + q] = cta_tile.hole_block[q] * hole_block;
      end[3 + q] = std::min(begin[3 + q] + hole_block, n[3 + q]);
    }
    for (int a = begin[0]; a < end[0]; ++a)
      for (int b = begin[1]; b < end[1]; ++b)
        for (int c = begin[2]; c < end[2]; ++c)
          for (int i = begin[3]; i < end[3]; ++i)
            for (int j = begin[4]; j < end[4]; ++j)
              for (int k = begin[5]; k < end[5]; ++k) {
                ++times[at(((((a * n[1] + b) * n[2] + c) * n[3] + i) * n[4] + j) * n[5] + k)];
              }
  }
  return times;
}

/// A task of random extents. `equal_particles`, `equal_holes`: as in TaskData.
TaskData random_task(int equal_particles, int equal_holes, std::mt19937& random) {
  TaskData task{};
  std::uniform_int_distribution<int> particle(1, 11), hole(1, 9);
  const auto draw = [&](int first, int equal, std::uniform_int_distribution<int>& size) {
    for (int q = 0; q < 3; ++q) task.extent[first + q] = size(random);
    for (int q = 0; q < 2; ++q) {
      if ((equal >> q & 1) != 0) task.extent[first + q + 1] = task.extent[first + q];
    }
  };
  draw(0, equal_particles, particle);
  draw(3, equal_holes, hole);
  task.equal_particles = equal_particles;
  task.equal_holes = equal_holes;
  return task;
}

/// True if the indices are in ascending order where orbital tiles coincide, so that the element is computed.
bool ascending(SpinFormulation formulation, int equal, int x, int y, int z) {
  const auto in_order = [&](int lower, int upper) {
    return formulation == SpinFormulation::spin_orbital ? lower < upper : lower <= upper;
  };
  return ((equal & 1) == 0 || in_order(x, y)) && ((equal & 2) == 0 || in_order(y, z));
}

TEST(CtaTiles, CoverEveryAscendingElementOnce) {
  std::mt19937 random(11);
  for (const SpinFormulation formulation : {SpinFormulation::spin_orbital, SpinFormulation::spin_adapted}) {
    for (const Shape& shape : shapes) {
      CtaTiling tiling(shape);
      for (int equal = 0; equal < 16; ++equal) {
        const TaskData task = random_task(equal % 4, equal / 4, random);
        std::vector<CtaTile> cta_tiles;
        const double share = append_cta_tiles(5, task, formulation, shape, tiling, cta_tiles);
        const std::vector<int> times = times_covered(task, shape, cta_tiles);
        const auto& n = task.extent;
        std::size_t element = 0;
        bool complete = true;
        for (int a = 0; a < n[0]; ++a)
          for (int b = 0; b < n[1]; ++b)
            for (int c = 0; c < n[2]; ++c)
              for (int i = 0; i < n[3]; ++i)
                for (int j = 0; j < n[4]; ++j)
                  for (int k = 0; k < n[5]; ++k, ++element) {
                    const bool wanted =
                        ascending(formulation, equal % 4, a, b, c) && ascending(formulation, equal / 4, i, j, k);
                    complete = complete && times[element] <= 1 && (!wanted || times[element] == 1);
                  }
        EXPECT_TRUE(complete) << to_string(formulation) << ", coinciding tiles: " << equal;
        double covered = 0.0;
        for (const CtaTile& cta_tile : cta_tiles) {
          double elements = formulation == SpinFormulation::spin_adapted
                                ? computed_targets(equal_hole_blocks(task, cta_tile)) / 6.0
                                : 1.0;
          for (int q = 0; q < 3; ++q) {
            elements *= std::min(cta_tile.warps[q] * shape.warp_tile[q], n[q] - cta_tile.particle[q]);
            elements *= std::min(hole_block, n[3 + q] - hole_block * cta_tile.hole_block[q]);
          }
          covered += elements;
        }
        EXPECT_NEAR(share, covered / static_cast<double>(times.size()), 1e-12);
        if (equal == 0) {
          EXPECT_DOUBLE_EQ(share, 1.0);
        }
        for (const CtaTile& cta_tile : cta_tiles) ASSERT_EQ(cta_tile.task, 5u);
      }
    }
  }
}

TEST(CtaTiles, ComputeTheTargetsFromWhichOthersAreRead) {
  // An element of a target depends only on the hole of each particle.
  for (int equal = 0; equal < 4; ++equal) {
    for (int t = 0; t < 6; ++t) {
      const TargetSource source = target_source(equal, t);
      EXPECT_LT(source.target, computed_targets(equal));
      for (std::size_t q = 0; q < 3; ++q) {
        const int wanted = assignments[at(t)][q];
        const int place = assignments[at(source.target)][q];
        EXPECT_EQ(source.order[place], wanted) << equal << t;
        // Holes are exchanged between equal blocks only.
        const int lower = std::min(place, wanted), upper = std::max(place, wanted);
        for (int p = lower; p < upper; ++p) EXPECT_NE(equal >> p & 1, 0) << equal << t;
      }
    }
  }
}

TEST(CtaTiles, LeaveOutTilesWithoutAscendingElements) {
  CtaTiling tiling(shapes[0]);
  TaskData task{};
  std::fill(std::begin(task.extent), std::end(task.extent), 16);
  task.equal_particles = task.equal_holes = 3;
  std::vector<CtaTile> cta_tiles;
  // Each hole has four blocks; 20 of the 64 triples of blocks have ascending elements. The CTA tiles of particles are
  // larger than blocks of holes.
  EXPECT_LE(append_cta_tiles(0, task, SpinFormulation::spin_orbital, shapes[0], tiling, cta_tiles), 20.0 / 64.0 * 0.75);
  // A tile of two holes has no three holes in ascending order.
  for (int q = 3; q < 6; ++q) task.extent[q] = 2;
  cta_tiles.clear();
  EXPECT_EQ(append_cta_tiles(0, task, SpinFormulation::spin_orbital, shapes[0], tiling, cta_tiles), 0.0);
  EXPECT_TRUE(cta_tiles.empty());
}

TEST(CtaTiles, AreAppended) {
  CtaTiling tiling(shapes[0]);
  std::mt19937 random(1);
  const TaskData task = random_task(0, 0, random);
  std::vector<CtaTile> cta_tiles;
  append_cta_tiles(0, task, SpinFormulation::spin_adapted, shapes[0], tiling, cta_tiles);
  const std::size_t one = cta_tiles.size();
  append_cta_tiles(1, task, SpinFormulation::spin_adapted, shapes[0], tiling, cta_tiles);
  ASSERT_EQ(cta_tiles.size(), 2 * one);
  EXPECT_EQ(cta_tiles[one - 1].task, 0u);
  EXPECT_EQ(cta_tiles[one].task, 1u);
}

}  // namespace
}  // namespace trifuse::gpu
