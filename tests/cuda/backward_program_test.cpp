#include "cxx/cuda/schedule/backward_program.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <vector>

#include "cxx/cuda/schedule/accumulator_layout.hpp"
#include "cxx/operands/derivative_sums.hpp"
#include "cxx/operands/panel_store.hpp"
#include "cxx/plan/plan.hpp"
#include "tests/support/molecules.hpp"
#include "tests/support/problems.hpp"

namespace trifuse::gpu {
namespace {

using namespace trifuse::testing;

std::size_t as_size(std::int64_t n) {
  return static_cast<std::size_t>(n);
}

/// Calls `use` with all holes i, j, k of a hole group.
template <typename Use>
void for_all_holes(Use use) {
  for (int i = 0; i < hole_group_size; ++i)
    for (int j = 0; j < hole_group_size; ++j)
      for (int k = 0; k < hole_group_size; ++k) use(i, j, k);
}

TEST(Seeds, HaveAPlaceEachInAnAtom) {
  for (const auto place : {seed_place, float_seed_place}) {
    for (const int odd : {0, 1}) {
      std::set<int> places;
      for_all_holes([&](int i, int j, int k) { places.insert(place(i, j, k, odd)); });
      EXPECT_EQ(places.size(), as_size(seed_atom));
      EXPECT_EQ(*places.begin(), 0);
      EXPECT_EQ(*places.rbegin(), seed_atom - 1);
    }
  }
  for_all_holes([](int i, int j, int k) {
    EXPECT_EQ(float_seed_place(i, j, k, 1), float_seed_place(i, j, k, 0) ^ odd_float_places);
  });
}

/// Returns the hole at position `q` if y is `of_y` and the others are `of_h` and `of_h2`, in ascending positions.
int hole_of(int q, int y, int of_y, int of_h, int of_h2) {
  return q == y ? of_y : q == first_other(y) ? of_h : of_h2;
}
int place_of(int y, int of_y, int of_h, int of_h2, int odd, decltype(&seed_place) place = seed_place) {
  return place(hole_of(0, y, of_y, of_h, of_h2), hole_of(1, y, of_y, of_h, of_h2), hole_of(2, y, of_y, of_h, of_h2),
               odd);
}

// Sixteen lanes load 8 bytes each at a time, from 16 banks of 8 bytes. The lanes and k of the two halves of a warp are
// those of backward_kernel.cuh.
TEST(Seeds, AreLoadedWithoutBankConflicts) {
  for (int y = 0; y < 3; ++y) {
    for (const int half_warp : {0, 1}) {
      for (const int row_8 : {0, 1}) {
        for (const int k_4 : {0, 1}) {
          std::set<int> of_left, of_right;
          for (int lane = 16 * half_warp; lane < 16 * half_warp + 16; ++lane) {
            const int r = lane / 4, q = lane % 4, row = r + 8 * row_8;
            of_left.insert(place_of(y, q / 2 + 2 * k_4, row / 4, row % 4, q % 2) % 16);
            of_right.insert(place_of(y, r % 4, 2 * k_4, q, r / 4) % 16);
          }
          EXPECT_EQ(of_left.size(), 16u) << "hole " << y;
          EXPECT_EQ(of_right.size(), 16u) << "hole " << y;
        }
      }
    }
  }
}

// All lanes of a warp load 4 bytes at a time, from 32 banks of 4 bytes. The lanes are those of
// mixed_backward_kernel.cuh.
TEST(Seeds, AreLoadedAsFloatsWithoutBankConflicts) {
  for (int y = 0; y < 3; ++y) {
    for (const int row_8 : {0, 1}) {
      for (const int k_8 : {0, 1}) {
        for (const int k_1 : {0, 1}) {
          std::set<int> of_left, of_right;
          for (int lane = 0; lane < 32; ++lane) {
            const int r = lane / 4, q = lane % 4;
            of_left.insert(place_of(y, q, r / 4 + 2 * row_8, r % 4, k_1, float_seed_place) % 32);
            of_right.insert(place_of(y, r % 4, q / 2 + 2 * k_8, q % 2 * 2 + k_1, r / 4, float_seed_place) % 32);
          }
          EXPECT_EQ(of_left.size(), 32u) << "hole " << y;
          EXPECT_EQ(of_right.size(), 32u) << "hole " << y;
        }
      }
    }
  }
}

/// All elements of the tiles of a task as positions a, b, c, i, j, k.
using Element = std::array<int, 6>;

class Images : public ::testing::TestWithParam<SpinFormulation> {};

// Every element of every target has exactly one seed, and it belongs to the right holes.
TEST_P(Images, CoverAllElementsOnce) {
  const SpinFormulation formulation = GetParam();
  const bool adapted = formulation == SpinFormulation::spin_adapted;
  const auto source = make_synthetic_blocks({Reference::rhf, 5, 5, 6, 6, 1, 3, 3, 1});
  Problem problem;
  problem.right = source.get();
  problem.formulation = formulation;
  problem.derivatives = Derivatives::all;
  const Plan plan = make_plan(source->tiles(), formulation);
  const PanelLayout layout(problem, plan.tiles);
  ContractionList contractions;
  TaskProgram names;
  BackwardProgram program;
  std::set<std::pair<int, int>> kinds;
  for (const Task& task : plan.tasks) {
    write_program(problem, plan.tiles, task, format_of<Fp64>(), contractions, names);
    write_backward_program(problem, layout, VvooSums(layout), task, names, format_of<Fp64>(), contractions, program);
    const TaskData& data = names.data;
    kinds.insert({data.equal_particles, data.equal_holes});
    EXPECT_LE(program.images.size() * as_size(targets_per_side(formulation)), as_size(most_image_targets));
    std::map<std::pair<int, Element>, int> seeds;
    const auto canonical = [&](const Element& e) {
      const auto sorted = [](int equal, int x, int y, int z) {
        return ((equal & 1) == 0 || x < y) && ((equal & 2) == 0 || y < z);
      };
      return sorted(data.equal_particles, e[0], e[1], e[2]) && sorted(data.equal_holes, e[3], e[4], e[5]);
    };
    Element e{};
    const auto visit = [&](auto& self, std::size_t q) -> void {
      if (q < 6) {
        for (e[q] = 0; e[q] < data.extent[q]; ++e[q]) self(self, q + 1);
        return;
      }
      if (!canonical(e)) return;
      for (const SeedImage& image : program.images) {
        for (std::size_t source = 0; source < as_size(targets_per_side(formulation)); ++source) {
          if (image.target[source] == SeedImage::none) continue;
          const auto &particles = position_orders[as_size(image.particle_order)],
                     &holes = position_orders[as_size(image.hole_order[source])];
          Element at{};
          for (std::size_t n = 0; n < 3; ++n) {
            at[n] = e[as_size(particles[n])];
            at[3 + n] = e[3 + as_size(holes[n])];
          }
          ++seeds[{image.target[source], at}];
          if (!adapted) continue;
          // The particles keep their holes.
          EXPECT_TRUE(std::any_of(assignments.begin(), assignments.end(), [&](const auto& target) {
            for (std::size_t n = 0; n < 3; ++n) {
              if (holes[as_size(target[n])] != assignments[source][as_size(particles[n])]) return false;
            }
            return true;
          }));
        }
      }
    };
    visit(visit, 0);
    // Elements with two equal orbitals of one tile have no strictly ascending order.
    std::size_t expected = 0;
    const auto distinct = [](std::int64_t n, int equal) {
      return equal == 3 ? n * (n - 1) * (n - 2) : equal == 0 ? n * n * n : n * (n - 1) * n;
    };
    if (data.extent[0] == data.extent[1] && data.extent[1] == data.extent[2] && data.extent[3] == data.extent[4] &&
        data.extent[4] == data.extent[5]) {
      expected = as_size(program.targets * distinct(data.extent[0], data.equal_particles) *
                         distinct(data.extent[3], data.equal_holes));
      EXPECT_EQ(seeds.size(), expected);
    }
    for (const auto& [place, count] : seeds) EXPECT_EQ(count, 1);
  }
  EXPECT_GE(kinds.size(), 4u);
}

// The sums of derivatives by amplitudes alone have no room for integrals.
TEST_P(Images, OfAmplitudesHaveSumsOfAmplitudes) {
  const auto source = make_synthetic_blocks({Reference::rhf, 5, 5, 11, 11, 1, 3, 6, 1});
  Problem problem;
  problem.right = source.get();
  problem.formulation = GetParam();
  problem.derivatives = Derivatives::amplitudes;
  const Plan plan = make_plan(source->tiles(), problem.formulation);
  const PanelLayout layout = layout_of_derivatives(problem, plan.tiles);
  EXPECT_EQ(layout.doubles(), PanelLayout::amplitude_doubles(problem, plan.tiles));
  EXPECT_LT(layout.doubles(), PanelLayout(problem, plan.tiles).doubles());
  std::set<std::int64_t> begins, written;
  layout.visit([&](const PanelKey& key, const PanelExtent& extent) {
    if (key.kind != PanelKind::vvoo) begins.insert(extent.begin);
  });
  ContractionList contractions;
  TaskProgram names;
  BackwardProgram program;
  for (const Task& task : plan.tasks) {
    write_program(problem, plan.tiles, task, format_of<Fp64>(), contractions, names);
    write_backward_program(problem, layout, VvooSums(layout), task, names, format_of<Fp64>(), contractions, program);
    for (const BackwardProgram::Entry& entry : program.products) {
      written.insert(entry.out + entry.shape.begin);
      const std::int64_t row = *std::min_element(std::begin(entry.shape.stride), std::end(entry.shape.stride));
      EXPECT_EQ(row, padded_row(entry.shape.end - entry.shape.begin));
    }
  }
  EXPECT_EQ(written, begins);
}

INSTANTIATE_TEST_SUITE_P(Of, Images, ::testing::Values(SpinFormulation::spin_adapted, SpinFormulation::spin_orbital));

// The tiles of a product have each of its rows and wanted contracted indices once.
TEST(BackwardTiles, CoverAPanelOnce) {
  for (const int left : {0, 1}) {
    BackwardProduct product{};
    const std::array<int, 6> extent = {9, 11, 5, 6, 4, 9};
    std::copy(extent.begin(), extent.end(), product.extent);
    product.particle = 1;
    product.hole = 2;
    product.left = left;
    product.begin = 37;
    product.end = 211;
    const int width = backward_width(product, Precision::fp64);
    EXPECT_EQ(width, 6);                                      // k-tiles 2 to 13 of 16
    EXPECT_EQ(backward_width(product, Precision::mixed), 3);  // k-tiles 1 to 6 of 32
    std::vector<BackwardTile> tiles;
    append_backward_tiles(product, Precision::fp64, 7, width, tiles);
    std::set<std::array<int, 4>> begins;
    for (const BackwardTile& tile : tiles) {
      EXPECT_EQ(tile.product, 7u);
      begins.insert({tile.k_tile, tile.row[0], tile.row[1], tile.row[2]});
    }
    EXPECT_EQ(begins.size(), tiles.size());
    // Left: 11 b in eights, hole groups of i and j. Right: 9 a in fours, 5 c in eights, hole groups of k.
    EXPECT_EQ(tiles.size(), 2u * (left != 0 ? 2u * 2u * 1u : 3u * 1u * 3u));
  }
}

TEST(SeedTiles, AreCutUntilTheSeedsFit) {
  const auto source = make_synthetic_blocks({Reference::rhf, 20, 20, 60, 60, 1, 20, 60, 1});
  const TileSpace& tiles = source->tiles();
  for (const int targets : {6, 12}) {
    for (const Precision precision : {Precision::fp64, Precision::mixed}) {
      EXPECT_EQ(largest_seed_bytes(targets, precision, tiles),
                targets * 20LL * 20 * 20 * 60 * 60 * 60 * seed_size(precision));
      const TileSpace cut = tiles_with_room_for_seeds(targets, precision, tiles, std::int64_t{1} << 30);
      EXPECT_LE(largest_seed_bytes(targets, precision, cut), std::int64_t{1} << 30);
      EXPECT_EQ(tiles_with_room_for_seeds(targets, precision, tiles, std::int64_t{1} << 40).size(), tiles.size());
    }
  }
}

TEST(SeedTiles, AreCutUntilATargetHasFewerThanTwoToThe32Seeds) {
  const auto source = make_synthetic_blocks({Reference::rhf, 32, 32, 60, 60, 1, 32, 60, 1});
  const TileSpace& tiles = source->tiles();
  constexpr std::int64_t most = std::int64_t{1} << 32, memory = std::int64_t{1} << 40;
  ASSERT_GT(largest_seed_bytes(1, Precision::mixed, tiles), most * seed_size(Precision::mixed));
  const TileSpace cut = tiles_with_room_for_seeds(1, Precision::mixed, tiles, memory);
  EXPECT_LE(largest_seed_bytes(1, Precision::mixed, cut), most * seed_size(Precision::mixed));
}

}
}
