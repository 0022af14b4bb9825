#include "cxx/cuda/schedule/boxes.hpp"

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

/// What kernels are compiled for: with matrix instructions and without.
constexpr int chunk_a_bytes = Fp64::a_chunk * 8, chunk_b_bytes = Fp64::b_chunk * 8;
constexpr Shape bulk_shape(int a, int b, int c) {
  return {{a, b, c}, 8, 40960, chunk_a_bytes, chunk_b_bytes, 49152, 24};
}
const std::array<Shape, 4> shapes = {bulk_shape(4, 4, 2), bulk_shape(4, 2, 4), bulk_shape(2, 4, 4),
                                     Shape{{2, 2, 2}, 8, 40960, chunk_a_bytes, chunk_b_bytes, 0, 24}};

/// Particles of a box along a, b or c, those beyond the end of the tile too.
int particles(const Shape& shape, const WarpBox& box, std::size_t q) {
  return box.warps[q] * shape.sub[q];
}

void expect_cover(const Shape& shape, BoxCover& cover, const std::array<int, 3>& extent) {
  SCOPED_TRACE(std::to_string(extent[0]) + " x " + std::to_string(extent[1]) + " x " + std::to_string(extent[2]));
  std::array<int, 3> n{};
  for (std::size_t q = 0; q < 3; ++q) n[q] = (extent[q] + shape.sub[q] - 1) / shape.sub[q];
  std::vector<int> seen(at(n[0] * n[1] * n[2]), 0);
  for (const WarpBox& box : cover.boxes(extent)) {
    ASSERT_GT(*std::min_element(box.warps.begin(), box.warps.end()), 0);
    EXPECT_LE(box.warps[0] * box.warps[1] * box.warps[2], shape.warps);
    EXPECT_LE(stage_bytes(shape, box.warps), shape.stage_bytes);
    EXPECT_TRUE(fits(shape, box.warps));
    EXPECT_LE(particles(shape, box, 0) + particles(shape, box, 1) + particles(shape, box, 2), shape.box_particles);
    std::array<int, 3> first{};
    for (std::size_t q = 0; q < 3; ++q) {
      ASSERT_EQ(box.first[q] % shape.sub[q], 0);
      first[q] = box.first[q] / shape.sub[q];
      ASSERT_LE(first[q] + box.warps[q], n[q]) << "a sub-box lies outside the tile";
    }
    for (int x = first[0]; x < first[0] + box.warps[0]; ++x)
      for (int y = first[1]; y < first[1] + box.warps[1]; ++y)
        for (int z = first[2]; z < first[2] + box.warps[2]; ++z) ++seen[at((x * n[1] + y) * n[2] + z)];
  }
  EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), static_cast<std::ptrdiff_t>(seen.size()));
}

TEST(BoxCover, CoversEverySubBoxOnce) {
  std::mt19937 random(3);
  for (const Shape& shape : shapes) {
    BoxCover cover(shape);
    for (int n = 1; n <= 24; ++n) expect_cover(shape, cover, {n, n, n});
    std::uniform_int_distribution<int> small(1, 24), large(40, 200);
    for (int n = 0; n < 200; ++n) expect_cover(shape, cover, {small(random), small(random), small(random)});
    for (int n = 0; n < 5; ++n) expect_cover(shape, cover, {large(random), large(random), large(random)});
    for (int n = 0; n < 5; ++n) expect_cover(shape, cover, {large(random), small(random), large(random)});
  }
}

// A task is given to the kernel whose sub-boxes fill its particles best.
TEST(CoverChoice, FollowsTheExtents) {
  CoverChoice choice({shapes[0], shapes[1], shapes[2]});
  EXPECT_EQ(choice.best({16, 16, 16}), 0u) << "the first of equals";
  EXPECT_EQ(choice.best({8, 8, 6}), 0u);
  EXPECT_EQ(choice.best({8, 6, 8}), 1u);
  EXPECT_EQ(choice.best({6, 8, 8}), 2u);
  EXPECT_EQ(choice.best({2, 16, 16}), 2u);
  for (std::size_t n = 0; n < 3; ++n) {
    BoxCover alone(shapes[n]);
    EXPECT_EQ(choice.cover(n).cost({6, 10, 14}), alone.cost({6, 10, 14}));
  }
}

// Ragged ends get arrangements of their own, so they cost little more than the particles that they hold.
TEST(BoxCover, CostsAboutAsMuchAsTheVolume) {
  const Shape& shape = shapes[0];
  BoxCover cover(shape);
  const double full_item = shape.warps * shape.sub[0] * shape.sub[1] * shape.sub[2];
  const auto relative_cost = [&](const std::array<int, 3>& extent) {
    return cover.cost(extent) * full_item / (extent[0] * extent[1] * extent[2]);
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

TEST(BoxCover, CountsAFullItemAsAboutOne) {
  for (const Shape& shape : shapes) {
    const BoxCover cover(shape);
    EXPECT_NEAR(cover.item_cost({2, 2, 2}), 1.0, 0.02);
    EXPECT_LT(cover.item_cost({1, 2, 2}), cover.item_cost({2, 2, 2}));
  }
}

/// How often the items of a task cover each of its elements, [a, b, c, i, j, k].
std::vector<int> times_covered(const TaskData& task, const Shape& shape, const std::vector<Item>& items) {
  const auto& n = task.extent;
  std::vector<int> times(at(std::int64_t{n[0]} * n[1] * n[2] * n[3] * n[4] * n[5]), 0);
  for (const Item& item : items) {
    std::array<int, 6> begin{}, end{};
    for (std::size_t q = 0; q < 3; ++q) {
      begin[q] = item.particle[q];
      end[q] = std::min(begin[q] + item.warps[q] * shape.sub[q], n[q]);
      begin[3 + q] = item.hole_block[q] * hole_block;
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

/// A task of random extents whose tiles coincide as the bits say.
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

/// Whether indices are in ascending order where tiles coincide: the elements that are to be computed.
bool ascending(SpinFormulation formulation, int equal, int x, int y, int z) {
  const auto in_order = [&](int lower, int upper) {
    return formulation == SpinFormulation::spin_orbital ? lower < upper : lower <= upper;
  };
  return ((equal & 1) == 0 || in_order(x, y)) && ((equal & 2) == 0 || in_order(y, z));
}

TEST(Items, HoldEveryElementInAscendingOrderOnce) {
  std::mt19937 random(11);
  for (const SpinFormulation formulation : {SpinFormulation::spin_orbital, SpinFormulation::spin_adapted}) {
    for (const Shape& shape : shapes) {
      BoxCover cover(shape);
      for (int equal = 0; equal < 16; ++equal) {
        const TaskData task = random_task(equal % 4, equal / 4, random);
        std::vector<Item> items;
        const double share = append_items(5, task, formulation, shape, cover, items);
        const std::vector<int> times = times_covered(task, shape, items);
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
        EXPECT_TRUE(complete) << to_string(formulation) << ", tiles that coincide: " << equal;
        double covered = 0.0;
        for (const Item& item : items) {
          double elements = formulation == SpinFormulation::spin_adapted
                                ? computed_targets(equal_hole_blocks(task, item)) / 6.0
                                : 1.0;
          for (int q = 0; q < 3; ++q) {
            elements *= std::min(item.warps[q] * shape.sub[q], n[q] - item.particle[q]);
            elements *= std::min(hole_block, n[3 + q] - hole_block * item.hole_block[q]);
          }
          covered += elements;
        }
        EXPECT_NEAR(share, covered / static_cast<double>(times.size()), 1e-12);
        if (equal == 0) {
          EXPECT_DOUBLE_EQ(share, 1.0);
        }
        for (const Item& item : items) ASSERT_EQ(item.task, 5u);
      }
    }
  }
}

TEST(Items, ComputeTheTargetsThatOthersFollowFrom) {
  // A target's number depends on the hole of each particle alone.
  for (int equal = 0; equal < 4; ++equal) {
    for (int t = 0; t < 6; ++t) {
      const TargetSource source = target_source(equal, t);
      EXPECT_LT(source.target, computed_targets(equal));
      for (std::size_t q = 0; q < 3; ++q) {
        const int wanted = assignments[at(t)][q];
        const int place = assignments[at(source.target)][q];
        EXPECT_EQ(source.order[place], wanted) << equal << t;
        // The hole moves between equal blocks only.
        const int lower = std::min(place, wanted), upper = std::max(place, wanted);
        for (int p = lower; p < upper; ++p) EXPECT_NE(equal >> p & 1, 0) << equal << t;
      }
    }
  }
}

TEST(Items, LeaveOutWhatHasNoElementInAscendingOrder) {
  BoxCover cover(shapes[0]);
  TaskData task{};
  std::fill(std::begin(task.extent), std::end(task.extent), 16);
  task.equal_particles = task.equal_holes = 3;
  std::vector<Item> items;
  // Of the four blocks of each hole 20 of 64 triples are left, those on diagonals whole; boxes of particles are larger.
  EXPECT_LE(append_items(0, task, SpinFormulation::spin_orbital, shapes[0], cover, items), 20.0 / 64.0 * 0.75);
  // Three holes in ascending order do not fit into a tile of two.
  for (int q = 3; q < 6; ++q) task.extent[q] = 2;
  items.clear();
  EXPECT_EQ(append_items(0, task, SpinFormulation::spin_orbital, shapes[0], cover, items), 0.0);
  EXPECT_TRUE(items.empty());
}

TEST(Items, AreAppended) {
  BoxCover cover(shapes[0]);
  std::mt19937 random(1);
  const TaskData task = random_task(0, 0, random);
  std::vector<Item> items;
  append_items(0, task, SpinFormulation::spin_adapted, shapes[0], cover, items);
  const std::size_t one = items.size();
  append_items(1, task, SpinFormulation::spin_adapted, shapes[0], cover, items);
  ASSERT_EQ(items.size(), 2 * one);
  EXPECT_EQ(items[one - 1].task, 0u);
  EXPECT_EQ(items[one].task, 1u);
}

}  // namespace
}  // namespace trifuse::gpu
