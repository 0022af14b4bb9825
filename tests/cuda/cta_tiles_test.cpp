#include "cxx/cuda/schedule/cta_tiles.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <vector>

#include "cxx/cuda/schedule/launch_shapes.hpp"
#include "tests/support/float_slices.hpp"

namespace trifuse::gpu {
namespace {

std::size_t at(std::int64_t n) {
  return static_cast<std::size_t>(n);
}

constexpr auto& bulk_shapes = BulkKernels::shapes;

/// The shapes of all compiled kernels, and those of kernels in other precisions.
std::vector<Shape> all_shapes() {
  std::vector<Shape> shapes(bulk_shapes.begin(), bulk_shapes.end());
  shapes.push_back(shape_of<FmaIn<Fp32>>());
  shapes.push_back(shape_of<FmaIn<TwoFloats>>());
  shapes.insert(shapes.end(), CooperativeKernels::shapes.begin(), CooperativeKernels::shapes.end());
  shapes.insert(shapes.end(), MixedKernels::shapes.begin(), MixedKernels::shapes.end());
  return shapes;
}

/// The warp tiles [a, b, c] of a CTA tile in which every warp has one.
std::array<int, 3> full_cta_tile(const Shape& shape) {
  if (shape.group_warps > 1) return {2, 1, shape.group_warps};
  return {2, 2, 2};
}

/// Expects that a kernel of this shape has room for a CTA tile of `warps` [a, b, c] warp tiles. Counts from the layout
/// of operands what the CTA tile takes.
void expect_room(const Shape& shape, const std::array<int, 3>& warps) {
  std::array<std::int64_t, 3> particles{};
  for (std::size_t q = 0; q < 3; ++q) {
    ASSERT_GT(warps[q], 0);
    particles[q] = warps[q] * shape.warp_tile[q];
  }
  const auto& [a, b, c] = particles;
  EXPECT_LE(warps[0] * warps[1] * warps[2], shape.warps);
  EXPECT_LE(a * b * c * hole_group_size * hole_group_size * hole_group_size, shape.cta_elements);
  EXPECT_LE(a + b + c, shape.cta_particles);
  // A k-tile of both operands: one block of holes each, with one particle and with the other two.
  const auto k_tile_bytes = [&](std::int64_t alone, std::int64_t first, std::int64_t second) {
    const auto extent = [](std::int64_t n) { return static_cast<std::int32_t>(n); };
    const Packing left{
        PanelKind::left, {extent(alone), hole_group_size, hole_group_size, 0}, {}, shape.format.k_tile_depth, 1, 0, 4};
    const Packing right{
        PanelKind::right, {extent(first), extent(second), hole_group_size, 0}, {}, shape.format.k_tile_depth, 2, 0, 4};
    return packed_bytes(left, shape.format) + packed_bytes(right, shape.format);
  };
  EXPECT_LE(std::max({k_tile_bytes(a, b, c), k_tile_bytes(b, a, c), k_tile_bytes(c, a, b)}), shape.stage_bytes);
  const std::int64_t holes = hole_group_size * hole_group_size, vvoo = 3 * (a * b + a * c + b * c) * holes;
  EXPECT_TRUE(shape.vvoo_bytes == 0 || vvoo * static_cast<std::int64_t>(sizeof(double)) <= shape.vvoo_bytes);
}

/// Bytes of shared memory that a CTA may use, by compute capability (CUDA C++ Programming Guide, table of technical
/// specifications). The data of CTA tiles and the barriers take at most 16 KiB of them.
template <typename Config>
void expect_room_in_shared_memory() {
  constexpr int architecture = Config::architecture;
  constexpr int capacity = (architecture >= 900 ? 227 : architecture >= 800 ? 163 : 64) * 1024, other = 16 * 1024;
  for (const SpinFormulation formulation : {SpinFormulation::spin_orbital, SpinFormulation::spin_adapted}) {
    EXPECT_LE(Config::dynamic_shared_bytes(formulation) + other, capacity);
  }
}
template <typename... Configs>
void expect_room_in_shared_memory(ConfigurationList<Configs...>) {
  (expect_room_in_shared_memory<Configs>(), ...);
}

TEST(LaunchShapes, FitIntoSharedMemory) {
  expect_room_in_shared_memory(BulkKernels{});
  expect_room_in_shared_memory(CooperativeKernels{});
  expect_room_in_shared_memory(MixedKernels{});
}

// The selector compares the costs of full CTA tiles, and predictions count k-steps of full CTA tiles.
TEST(LaunchShapes, OfOneDeviceHaveEquallyManyElements) {
  for (const Shape& shape : bulk_shapes) EXPECT_EQ(shape.cta_elements, bulk_shapes.front().cta_elements);
  for (const Shape& shape : all_shapes()) {
    EXPECT_EQ(shape.cta_elements, shape.warps * shape.warp_tile[0] * shape.warp_tile[1] * shape.warp_tile[2] * 64);
    expect_room(shape, full_cta_tile(shape));
  }
}

void expect_cover(const Shape& shape, CtaTiling& tiling, const std::array<int, 3>& extent) {
  SCOPED_TRACE(std::to_string(extent[0]) + " x " + std::to_string(extent[1]) + " x " + std::to_string(extent[2]));
  std::array<int, 3> n{};
  for (std::size_t q = 0; q < 3; ++q) n[q] = (extent[q] + shape.warp_tile[q] - 1) / shape.warp_tile[q];
  // Warps that multiply together lie along c.
  n[2] = (n[2] + shape.group_warps - 1) / shape.group_warps * shape.group_warps;
  std::vector<int> seen(at(n[0] * n[1] * n[2]), 0);
  ASSERT_FALSE(seen.empty());
  for (const CtaParticles& part : tiling.tiles(extent)) {
    expect_room(shape, part.warps);
    EXPECT_TRUE(fits(shape, part.warps));
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
  for (const Shape& shape : all_shapes()) {
    CtaTiling tiling(shape);
    for (int n = 1; n <= 24; ++n) expect_cover(shape, tiling, {n, n, n});
    std::uniform_int_distribution<int> small(1, 24), large(40, 200);
    for (int n = 0; n < 200; ++n) expect_cover(shape, tiling, {small(random), small(random), small(random)});
    for (int n = 0; n < 5; ++n) expect_cover(shape, tiling, {large(random), large(random), large(random)});
    for (int n = 0; n < 5; ++n) expect_cover(shape, tiling, {large(random), small(random), large(random)});
  }
}

// A CTA tile that is too large in one respect only is refused.
TEST(CtaTiling, KnowsTheLimitsOfAShape) {
  for (const Shape& shape : all_shapes()) {
    const std::array<int, 3> full = full_cta_tile(shape);
    EXPECT_TRUE(fits(shape, full));
    EXPECT_FALSE(fits(shape, {full[0] + 1, full[1], full[2]})) << "more warp tiles than warps";
    const auto with = [&](auto member, int less) {
      Shape tight = shape;
      tight.*member -= less;
      return tight;
    };
    const int a = full[0] * shape.warp_tile[0], b = full[1] * shape.warp_tile[1], c = full[2] * shape.warp_tile[2];
    const int particles = a + b + c;
    EXPECT_TRUE(fits(with(&Shape::cta_particles, shape.cta_particles - particles), full));
    EXPECT_FALSE(fits(with(&Shape::cta_particles, shape.cta_particles - particles + 1), full));
    const auto spare = static_cast<int>(shape.stage_bytes - stage_bytes(shape, full));
    EXPECT_TRUE(fits(with(&Shape::stage_bytes, spare), full));
    EXPECT_FALSE(fits(with(&Shape::stage_bytes, spare + 1), full));
    EXPECT_EQ(fits(shape, {1, 1, 2}), shape.group_warps == 1) << "half of the warps that multiply together";
    if (shape.vvoo_bytes == 0) continue;
    const auto spare_vvoo = static_cast<int>(shape.vvoo_bytes - 3 * (a * b + a * c + b * c) * 16 * 8);
    EXPECT_TRUE(fits(with(&Shape::vvoo_bytes, spare_vvoo), full));
    EXPECT_FALSE(fits(with(&Shape::vvoo_bytes, spare_vvoo + 1), full));
  }
}

// A task goes to the kernel whose warp tiles cover its particles best.
TEST(ShapeSelector, FollowsTheExtents) {
  ShapeSelector choice({bulk_shapes.begin(), bulk_shapes.end()});
  EXPECT_EQ(choice.best({16, 16, 16}), 0u) << "the first of equals";
  EXPECT_EQ(choice.best({8, 8, 6}), 0u);
  EXPECT_EQ(choice.best({8, 6, 8}), 1u);
  EXPECT_EQ(choice.best({8, 2, 16}), 1u);
  EXPECT_EQ(choice.best({6, 8, 8}), 0u) << "the first of equals";
  for (std::size_t n = 0; n < bulk_shapes.size(); ++n) {
    CtaTiling alone(bulk_shapes[n]);
    EXPECT_EQ(choice.tiling(n).cost({6, 10, 14}), alone.cost({6, 10, 14}));
  }
}

// Ragged ends get CTA tiles of another shape, so the cost is close to the number of particles.
TEST(CtaTiling, CostsAboutAsMuchAsTheVolume) {
  const Shape& shape = bulk_shapes.front();
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
  for (const Shape& shape : all_shapes()) {
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
      begin[3 + q] = cta_tile.hole_group[q] * hole_group_size;
      end[3 + q] = std::min(begin[3 + q] + hole_group_size, n[3 + q]);
      EXPECT_LT(begin[q], end[q]) << "a CTA tile without particles";
      EXPECT_LT(begin[3 + q], end[3 + q]) << "a CTA tile without holes";
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
  std::array<std::int64_t, 16> wanted_in_all{};
  for (const SpinFormulation formulation : {SpinFormulation::spin_orbital, SpinFormulation::spin_adapted}) {
    for (const Shape& shape : all_shapes()) {
      CtaTiling tiling(shape);
      // Coinciding tiles in every combination, each several times with other ragged extents.
      for (int n = 0; n < 3 * 16; ++n) {
        const int equal = n % 16;
        const TaskData task = random_task(equal % 4, equal / 4, random);
        std::vector<CtaTile> cta_tiles;
        const double share = append_cta_tiles(5, task, formulation, shape, tiling, cta_tiles);
        const std::vector<int> times = times_covered(task, shape, cta_tiles);
        const auto& extent = task.extent;
        std::size_t element = 0;
        std::int64_t elements_wanted = 0;
        bool complete = true;
        for (int a = 0; a < extent[0]; ++a)
          for (int b = 0; b < extent[1]; ++b)
            for (int c = 0; c < extent[2]; ++c)
              for (int i = 0; i < extent[3]; ++i)
                for (int j = 0; j < extent[4]; ++j)
                  for (int k = 0; k < extent[5]; ++k, ++element) {
                    const bool wanted =
                        ascending(formulation, equal % 4, a, b, c) && ascending(formulation, equal / 4, i, j, k);
                    elements_wanted += wanted ? 1 : 0;
                    complete = complete && times[element] <= 1 && (!wanted || times[element] == 1);
                  }
        ASSERT_TRUE(elements_wanted == 0 || !cta_tiles.empty());
        wanted_in_all[at(equal)] += elements_wanted;
        EXPECT_TRUE(complete) << to_string(formulation) << ", coinciding tiles: " << equal;
        double covered = 0.0;
        for (const CtaTile& cta_tile : cta_tiles) {
          double elements = formulation == SpinFormulation::spin_adapted
                                ? computed_targets(equal_hole_groups(task, cta_tile)) / 6.0
                                : 1.0;
          for (int q = 0; q < 3; ++q) {
            elements *= std::min(cta_tile.warps[q] * shape.warp_tile[q], extent[q] - cta_tile.particle[q]);
            elements *= std::min(hole_group_size, extent[3 + q] - hole_group_size * cta_tile.hole_group[q]);
          }
          covered += elements;
        }
        EXPECT_NEAR(share, covered / static_cast<double>(times.size()), 1e-12);
        if (equal == 0) {
          EXPECT_DOUBLE_EQ(share, 1.0);
        }
        for (const CtaTile& cta_tile : cta_tiles) {
          ASSERT_EQ(cta_tile.task, 5u);
          expect_room(shape, {cta_tile.warps[0], cta_tile.warps[1], cta_tile.warps[2]});
        }
      }
    }
  }
  for (std::size_t equal = 0; equal < 16; ++equal) EXPECT_GT(wanted_in_all[equal], 0) << "coinciding tiles: " << equal;
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
  CtaTiling tiling(bulk_shapes[0]);
  TaskData task{};
  std::fill(std::begin(task.extent), std::end(task.extent), 16);
  task.equal_particles = task.equal_holes = 3;
  std::vector<CtaTile> cta_tiles;
  // Each hole has four blocks; 20 of the 64 triples of blocks have ascending elements. The CTA tiles of particles are
  // larger than blocks of holes.
  EXPECT_LE(append_cta_tiles(0, task, SpinFormulation::spin_orbital, bulk_shapes[0], tiling, cta_tiles),
            20.0 / 64.0 * 0.75);
  // A tile of two holes has no three holes in ascending order.
  for (int q = 3; q < 6; ++q) task.extent[q] = 2;
  cta_tiles.clear();
  EXPECT_EQ(append_cta_tiles(0, task, SpinFormulation::spin_orbital, bulk_shapes[0], tiling, cta_tiles), 0.0);
  EXPECT_TRUE(cta_tiles.empty());
}

TEST(CtaTiles, AreAppended) {
  CtaTiling tiling(bulk_shapes[0]);
  std::mt19937 random(1);
  const TaskData task = random_task(0, 0, random);
  std::vector<CtaTile> cta_tiles;
  append_cta_tiles(0, task, SpinFormulation::spin_adapted, bulk_shapes[0], tiling, cta_tiles);
  const std::size_t one = cta_tiles.size();
  ASSERT_GT(one, 0u);
  append_cta_tiles(1, task, SpinFormulation::spin_adapted, bulk_shapes[0], tiling, cta_tiles);
  ASSERT_EQ(cta_tiles.size(), 2 * one);
  EXPECT_EQ(cta_tiles[one - 1].task, 0u);
  EXPECT_EQ(cta_tiles[one].task, 1u);
}

}
}
