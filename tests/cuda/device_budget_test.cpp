#include "cxx/cuda/schedule/device_budget.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "cxx/base/error.hpp"
#include "cxx/cuda/schedule/arena.hpp"
#include "cxx/cuda/schedule/cta_tiles.hpp"
#include "cxx/cuda/schedule/launch_shapes.hpp"
#include "cxx/cuda/schedule/slab_shape.hpp"
#include "cxx/cuda/schedule/task_program.hpp"
#include "cxx/operands/factor_products.hpp"
#include "cxx/plan/plan.hpp"
#include "tce_tiles/tiles/tile_sizes.hpp"
#include "tests/support/factored_source.hpp"
#include "tests/support/float_slices.hpp"
#include "tests/support/problems.hpp"
#include "tests/support/refusals.hpp"

namespace trifuse::gpu {
namespace {

using namespace trifuse::testing;

constexpr std::int64_t mib = std::int64_t{1} << 20, gib = std::int64_t{1} << 30;

constexpr OperandFormat in_doubles = format_of<Fp64>();

/// The largest task, all panels and the largest part of a panel, counted panel by panel.
PanelDemand counted(const Problem& problem, const Plan& plan, const OperandFormat& format) {
  PanelDemand found{};
  std::set<PanelName> all;
  ContractionList contractions;
  TaskProgram program;
  const auto bytes_of = [&](const std::set<PanelName>& names) {
    std::int64_t bytes = 0;
    for (const PanelName& name : names) bytes += Arena::rounded(packed_bytes(plan.tiles, plan.formulation, name));
    return bytes;
  };
  for (const Task& task : plan.tasks) {
    write_program(problem, plan.tiles, task, format, contractions, program);
    std::set<PanelName> names;
    for (const auto& product : program.products) {
      if (product.k_steps > 0) names.insert({product.a, product.b});
    }
    for (const auto& vvoo : program.vvoo) {
      if (vvoo.used) names.insert(vvoo.name);
    }
    found.largest_task = std::max(found.largest_task, bytes_of(names));
    all.merge(names);
  }
  found.all = bytes_of(all);
  for (const PanelName& name : all) {
    const std::int64_t row = padded_row(packing_of(plan.tiles, plan.formulation, name, 1).contracted);
    const Packing packing = packing_of(plan.tiles, plan.formulation, name, row);
    std::int64_t part = packing.kind == PanelKind::vvoo ? 1 : row;
    for (int q = 0; q < (packing.kind == PanelKind::vvoo ? 4 : 3); ++q) {
      part *= q == packing.outer ? std::min(packing.extent[q], hole_group_size) : packing.extent[q];
    }
    found.slot = std::max(found.slot, part * static_cast<std::int64_t>(sizeof(double)));
  }
  return found;
}

class DemandOf : public ::testing::TestWithParam<NamedMolecule> {};

TEST_P(DemandOf, PanelsIsAnUpperBoundOfWhatTasksRead) {
  for (const SpinFormulation formulation : GetParam().formulations()) {
    for (const bool two_sided : {false, true}) {
      OwnedProblem owned(GetParam().molecule, formulation, two_sided);
      if (two_sided) owned.problem.method = ccsd_t_with_fock;
      for (const auto& [holes, particles] : {TileSizes{2, 2}, {1, 3}, {5, 4}, {30, 30}}) {
        SCOPED_TRACE(to_string(formulation) + ", tiles of " + std::to_string(holes) + " and " +
                     std::to_string(particles) + (two_sided ? ", two sides" : ""));
        const Plan plan = make_plan(owned.right->tiles().retiled(holes, particles), formulation);
        ASSERT_FALSE(plan.tasks.empty());
        for (const OperandFormat& format :
             {in_doubles, format_of<SplitHalf>(), format_of<Fp32>(), format_of<TwoFloats>()}) {
          SCOPED_TRACE(std::string(format.name));
          const PanelDemand found = counted(owned.problem, plan, format),
                            demand = panel_demand(owned.problem, plan.tiles, format);
          EXPECT_GT(found.largest_task, 0);
          EXPECT_LE(found.largest_task, demand.largest_task);
          EXPECT_LE(found.all, demand.all);
          EXPECT_LE(found.slot, demand.slot);
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Every, DemandOf, ::testing::ValuesIn(molecules_of_every_kind()), molecule_name);

// Full tiles leave no padding, so the bounds are close.
TEST(Demand, IsNotMuchMoreThanWhatTasksRead) {
  const OwnedProblem owned(closed_shell(24, 96), SpinFormulation::spin_adapted);
  const Plan plan = make_plan(owned.right->tiles().retiled(8, 16), SpinFormulation::spin_adapted);
  for (const OperandFormat& format : {in_doubles, format_of<SplitHalf>(), format_of<Fp32>(), format_of<TwoFloats>()}) {
    SCOPED_TRACE(std::string(format.name));
    const PanelDemand found = counted(owned.problem, plan, format),
                      demand = panel_demand(owned.problem, plan.tiles, format);
    EXPECT_LE(demand.largest_task, 1.3 * static_cast<double>(found.largest_task));
    EXPECT_LE(demand.all, 2.2 * static_cast<double>(found.all));
  }
}

// All panels fit into the cache if these sums say so, and then tasks stay in the order of the plan.
TEST(Demand, HasMeansThatSumUpToAllPanels) {
  for (const SpinFormulation formulation : {SpinFormulation::spin_adapted, SpinFormulation::spin_orbital}) {
    SCOPED_TRACE(to_string(formulation));
    const OwnedProblem owned(closed_shell(24, 96), formulation);
    const Plan plan = make_plan(owned.right->tiles().retiled(8, 16), formulation);
    const auto found = static_cast<double>(counted(owned.problem, plan, in_doubles).all);
    const PanelDemand demand = panel_demand(owned.problem, plan.tiles, in_doubles);
    EXPECT_GT(demand.likely_all, 0.85 * found);
    EXPECT_LT(demand.likely_all, 1.25 * found);
    const double tiles = formulation == SpinFormulation::spin_adapted ? 6.0 : 12.0;
    EXPECT_NEAR(demand.likely_all,
                tiles * demand.left_of_tile + tiles * tiles * (demand.right_of_pair + demand.vvoo_of_pair),
                1e-9 * demand.likely_all);
  }
}

TEST(Blocks, AreAsLargeAsThePanelCacheAllows) {
  PanelDemand demand{};
  demand.left_of_tile = 10.0;
  demand.right_of_pair = 3.0;
  demand.vvoo_of_pair = 1.0;
  demand.likely_all = 8 * 10.0 + 64 * 4.0;
  EXPECT_EQ(particle_group(336, 0, demand), 0);
  EXPECT_EQ(particle_group(335, 0, demand), 4);
  // Blocks of three tiles: left panels of 7.75 tiles and panels of 19.5 pairs.
  const std::int64_t three = 214;
  EXPECT_EQ(particle_group(three, 0, demand), 3);
  EXPECT_EQ(particle_group(three - 1, 0, demand), 2);
  EXPECT_EQ(particle_group(three + 50, 50, demand), 3);
  EXPECT_EQ(particle_group(three + 49, 50, demand), 2);
  EXPECT_EQ(particle_group(1, 0, demand), 1);
}

// Panels of floats take half of the memory. vvoo blocks and pinned buffers take as much as with doubles.
TEST(Demand, FollowsTheFormatOfTheOperands) {
  const OwnedProblem owned(closed_shell(24, 96), SpinFormulation::spin_adapted);
  const TileSpace tiles = owned.right->tiles().retiled(8, 16);
  const PanelDemand doubles = panel_demand(owned.problem, tiles, in_doubles),
                    floats = panel_demand(owned.problem, tiles, format_of<Fp32>());
  const std::int64_t vvoo_of_task = 18 * 16 * 16 * 8 * 8 * 8, all_vvoo = 2 * 96 * 96 * 24 * 24 * 8;
  EXPECT_EQ(2 * (floats.largest_task - vvoo_of_task), doubles.largest_task - vvoo_of_task);
  EXPECT_EQ(2 * (floats.all - all_vvoo), doubles.all - all_vvoo);
  EXPECT_EQ(floats.slot, doubles.slot);
  // So the same budget allows larger tiles.
  const TileSpace coarse = owned.right->tiles().retiled(24, 48);
  const auto largest_with = [&](const OperandFormat& format) {
    const auto [holes, particles] =
        largest_tiles(tiles_that_fit(owned.problem, coarse, format, 500 * mib, 1, 100 * mib));
    return holes * particles;
  };
  EXPECT_LT(largest_with(in_doubles), largest_with(format_of<Fp32>()));
}

// With derivatives in mixed precision each panel is there twice, for two kernels; a vvoo block is there once.
TEST(Demand, CountsPanelsOfTwoFormatsWithDerivatives) {
  OwnedProblem owned(closed_shell(24, 96), SpinFormulation::spin_adapted);
  const TileSpace tiles = owned.right->tiles().retiled(8, 16);
  const OperandFormat format = format_of<SplitHalfUnits>();
  const PanelDemand energy = panel_demand(owned.problem, tiles, format),
                    doubles = panel_demand(owned.problem, tiles, in_doubles);
  EXPECT_EQ(bytes_per_number(owned.problem, format), 4);
  owned.problem.derivatives = Derivatives::all;
  const PanelDemand both = panel_demand(owned.problem, tiles, format);
  const std::int64_t vvoo_of_task = 18 * 16 * 16 * 8 * 8 * 8, all_vvoo = 2 * 96 * 96 * 24 * 24 * 8;
  EXPECT_EQ(both.largest_task - vvoo_of_task, 2 * (energy.largest_task - vvoo_of_task));
  EXPECT_EQ(both.all - all_vvoo, 2 * (energy.all - all_vvoo));
  EXPECT_EQ(bytes_per_number(owned.problem, format), 8);
  EXPECT_EQ(panel_demand(owned.problem, tiles, in_doubles).all, doubles.all);
}

// The panels of large tiles come in parts that are larger than the smallest pinned buffer.
TEST(Demand, HasPinnedBuffersForTheLargestTiles) {
  const OwnedProblem owned(closed_shell(4, 72), SpinFormulation::spin_adapted);
  const Plan plan = make_plan(owned.right->tiles().retiled(4, 72), SpinFormulation::spin_adapted);
  const std::int64_t small = panel_demand(owned.problem, plan.tiles.retiled(4, 8), in_doubles).slot;
  EXPECT_EQ(small, panel_demand(owned.problem, plan.tiles.retiled(4, 4), in_doubles).slot)
      << "there is a smallest buffer";
  EXPECT_LE(counted(owned.problem, plan, in_doubles).slot, panel_demand(owned.problem, plan.tiles, in_doubles).slot);
  const auto wide =
      make_plan(make_synthetic_source(closed_shell(4, 600))->tiles().retiled(4, 100), SpinFormulation::spin_adapted);
  const std::int64_t needed = counted(owned.problem, wide, in_doubles).slot,
                     slot = panel_demand(owned.problem, wide.tiles, in_doubles).slot;
  EXPECT_GT(needed, small);
  EXPECT_LE(needed, slot);
  EXPECT_LE(slot, 1.1 * static_cast<double>(needed));
}

TEST(DeviceBudget, IsDividedWithoutRest) {
  const OwnedProblem owned(closed_shell(40, 200), SpinFormulation::spin_adapted);
  const PanelDemand demand = panel_demand(owned.problem, owned.right->tiles(), in_doubles);
  const std::int64_t worker =
      worker_bytes(scratch_doubles(132, owned.problem.targets(), BulkKernels::shapes.front().cta_elements), 0);
  for (const std::int64_t free : {2 * gib, 10 * gib, 40 * gib, 140 * gib}) {
    const std::int64_t budget = device_budget(free, 0);
    EXPECT_LT(budget, free);
    EXPECT_EQ(device_budget(free, budget - 1), budget - 1);
    EXPECT_EQ(device_budget(free, 2 * free), budget) << "more is allowed than there is";
    const std::int64_t workers = worker_count(budget, worker);
    EXPECT_GE(workers, fewest_workers);
    EXPECT_LE(workers, max_workers);
    EXPECT_TRUE(workers == fewest_workers || workers * worker <= budget / 10);
    const std::int64_t panels = panel_bytes(budget, workers, worker, demand);
    EXPECT_EQ(panels + workers * worker + panel_slots(budget, demand) * demand.slot, budget);
    EXPECT_EQ(cache_bytes(demand.all / 2, demand), demand.all / 2);
    EXPECT_EQ(cache_bytes(100 * demand.all, demand), cache_bytes(200 * demand.all, demand));
    EXPECT_GE(cache_bytes(100 * demand.all, demand), demand.all);
  }
  EXPECT_EQ(worker_count(2 * gib, worker), fewest_workers);
  EXPECT_EQ(worker_count(140 * gib, worker), max_workers);
}

TEST(DeviceBudget, HasMorePinnedBuffersIfTheyAreASmallPart) {
  PanelDemand demand{gib, 20 * gib, 32 * mib};
  EXPECT_EQ(panel_slots(140 * gib, demand), most_panel_slots);
  EXPECT_EQ(panel_slots(20 * gib, demand), 6) << "a hundredth of the budget";
  EXPECT_EQ(panel_slots(gib, demand), fewest_panel_slots);
  demand.all = 2560 * mib;
  EXPECT_EQ(panel_slots(140 * gib, demand), 5) << "a sixteenth of the panels";
  demand.all = gib;
  EXPECT_EQ(panel_slots(140 * gib, demand), fewest_panel_slots);
}

TEST(Demand, OfFactorsIsAnUpperBoundOfWhatPanelsAreMadeFrom) {
  for_each_factored_problem([](const FactoredProblem& problem, const TileSpace& tiles) {
    const PanelLayout layout(problem.of_factors, tiles), stored(problem.of_integrals, tiles);
    const auto bytes_of = [&](const PanelKey& key) {
      return Arena::rounded(slab_shape(tiles, layout.auxiliary(), key).bytes());
    };
    std::int64_t slabs = 0, at_once = 0, block = 0, largest = 0;
    layout.visit([&](const PanelKey& key, const PanelExtent& extent) {
      if (is_slab(key.kind)) {
        slabs += bytes_of(key);
        EXPECT_GE(slab_shape(tiles, layout.auxiliary(), key).bytes(),
                  extent.doubles * static_cast<std::int64_t>(sizeof(double)));
      }
    });
    stored.visit([&](const PanelKey& key, const PanelExtent&) {
      if (!layout.makes(key)) return;
      std::set<PanelKey> needed;
      for (const FactorProduct& product : factor_products(tiles, layout.formulation(), key)) {
        needed.insert({product.first, product.second});
      }
      std::int64_t bytes = 0;
      for (const PanelKey& slab : needed) bytes += bytes_of(slab);
      at_once = std::max(at_once, bytes);
      const PanelFactorRows rows = factor_rows(tiles, layout.formulation(), key);
      const std::int64_t row_bytes = SlabShape::even_row(rows.length) * std::int64_t{sizeof(double)};
      block = std::max(block, hole_group_size * rows.step(0) * row_bytes);
      largest = std::max(largest, rows.count() * row_bytes);
    });
    const PanelDemand demand = panel_demand(problem.of_factors, tiles, in_doubles);
    EXPECT_GT(slabs, 0);
    EXPECT_GE(demand.slabs, slabs);
    EXPECT_LE(demand.slabs, 2 * slabs);
    EXPECT_GE(demand.slabs_at_once, at_once);
    EXPECT_GE(demand.made_rows, block);
    EXPECT_GE(demand.made_rows, largest) << "small panels are made at once";
    const PanelDemand of_integrals = panel_demand(problem.of_integrals, tiles, in_doubles);
    EXPECT_EQ(of_integrals.all, demand.all);
    EXPECT_EQ(of_integrals.slabs + of_integrals.slabs_at_once + of_integrals.made_rows, 0);
  });
}

TEST(DeviceBudget, HasRoomForSlabsOfFactors) {
  PanelDemand demand{gib, 20 * gib, 32 * mib};
  demand.made_rows = 256 * mib;
  demand.slabs = 3 * gib;
  demand.slabs_at_once = gib;
  constexpr std::int64_t workers = 3, worker = 300 * mib;
  const std::int64_t buffers = workers * worker + fewest_panel_slots * demand.slot + demand.made_rows;
  const auto slabs_of = [&](std::int64_t beside) { return slab_bytes(buffers + beside, workers, worker, demand); };
  EXPECT_EQ(slabs_of(100 * gib), demand.slabs);
  EXPECT_EQ(slabs_of(6 * gib), demand.slabs);
  EXPECT_EQ(slabs_of(4 * gib), 2 * gib);
  EXPECT_EQ(slabs_of(gib), demand.slabs_at_once) << "one panel must be possible";
  std::int64_t before = 0;
  for (std::int64_t beside = gib; beside < 10 * gib; beside += 100 * mib) {
    const std::int64_t panels = panel_bytes(buffers + beside, workers, worker, demand);
    EXPECT_EQ(panels + slabs_of(beside), beside);
    EXPECT_GE(panels, before) << "more memory and less for panels";
    before = panels;
  }
}

TEST(DeviceBudget, HasRoomForThePanelsOfTwoLaunches) {
  EXPECT_LE(2 * launch_limit(10 * gib), 10 * gib);
  EXPECT_GE(launch_limit(10 * gib), 4 * gib);
  const PanelDemand demand{gib, 20 * gib, 32 * mib};
  // Everything fits.
  EXPECT_EQ(launch_limit_beside_owned(20 * gib, 10 * gib, demand), std::numeric_limits<std::int64_t>::max());
  // Owned panels take too large a part.
  EXPECT_FALSE(launch_limit_beside_owned(20 * gib, 16 * gib, demand));
  EXPECT_FALSE(launch_limit_beside_owned(8 * gib, 6 * gib + 4, demand));
  // Beside owned panels there is room for two launches, or there is not.
  EXPECT_EQ(launch_limit_beside_owned(8 * gib, 5 * gib, demand), launch_limit(3 * gib));
  EXPECT_FALSE(launch_limit_beside_owned(8 * gib, 6 * gib, demand));
}

TEST(TilesThatFit, AreCutNoFurtherThanNeeded) {
  const OwnedProblem owned(closed_shell(40, 200), SpinFormulation::spin_adapted);
  const TileSpace coarse = owned.right->tiles().retiled(40, 100);
  constexpr std::int64_t workers = 3, worker = 300 * mib;
  std::set<std::pair<std::int64_t, std::int64_t>> sizes;
  std::int64_t smallest = 0;
  for (std::int64_t budget = 1200 * mib; budget < 64 * gib; budget += budget / 8) {
    const TileSpace fine = tiles_that_fit(owned.problem, coarse, in_doubles, budget, workers, worker);
    const PanelDemand demand = panel_demand(owned.problem, fine, in_doubles);
    EXPECT_LE(demand.largest_task, launch_limit(panel_bytes(budget, workers, worker, demand)));
    const auto [holes, particles] = largest_tiles(fine);
    EXPECT_LE(holes, largest_hole_tile);
    EXPECT_LE(particles, largest_particle_tile);
    EXPECT_GE(holes * particles, smallest) << "more memory and smaller tiles";
    smallest = holes * particles;
    sizes.emplace(holes, particles);
  }
  EXPECT_GE(sizes.size(), 3u);
  // Tiles that fit stay as they are.
  const TileSpace small = owned.right->tiles().retiled(8, 16);
  EXPECT_EQ(tiles_that_fit(owned.problem, small, in_doubles, 64 * gib, workers, worker), small);
  expect_failure<UsageError>([&] { tiles_that_fit(owned.problem, coarse, in_doubles, 1000 * mib, workers, worker); },
                             "allow more --memory");
}

// A launch is full after `max_cta_tiles`, and the last task adds its own.
TEST(DeviceBudget, HasRoomForTheProgramAndTheSumsOfALaunch) {
  constexpr int particles = 32, holes = largest_hole_tile;  // the largest of default_tiling() for GPUs
  TaskData largest = single_task({particles, particles, particles, holes, holes, holes});
  for (const Shape& shape : BulkKernels::shapes) {
    CtaTiling tiling(shape);
    std::vector<CtaTile> cta_tiles;
    append_cta_tiles(0, largest, SpinFormulation::spin_adapted, shape, tiling, cta_tiles);
    ASSERT_FALSE(cta_tiles.empty());
    const std::size_t sums = sizeof(double) * static_cast<std::size_t>(shape.warps) * spin_adapted_sums;
    EXPECT_LE((max_cta_tiles + cta_tiles.size()) * (sizeof(CtaTile) + sums), static_cast<std::size_t>(launch_bytes));
  }
}

// Each worker has the sums of a task for every omega2.
TEST(DeviceBudget, HasRoomForTheSumsOfManyOmega2) {
  OwnedProblem owned(closed_shell(40, 200), SpinFormulation::spin_adapted);
  const std::span<const Shape> shapes = BulkKernels::shapes;
  const auto sums = [&](std::size_t omega2_count, const TileSpace& tiles) {
    owned.problem.quotients.assign(omega2_count, 0.1);
    return sum_bytes(owned.problem, tiles, shapes);
  };
  const TileSpace coarse = owned.right->tiles().retiled(20, 32);
  EXPECT_EQ(sums(1, coarse), 0) << "these are in launch_bytes";
  EXPECT_EQ(sums(101, coarse), 10 * sums(11, coarse));
  TaskData task = single_task({32, 32, 32, 20, 20, 20});
  for (const Shape& shape : shapes) {
    CtaTiling tiling(shape);
    std::vector<CtaTile> cta_tiles;
    append_cta_tiles(0, task, SpinFormulation::spin_adapted, shape, tiling, cta_tiles);
    const std::size_t of_task =
        cta_tiles.size() * sizeof(double) * static_cast<std::size_t>(shape.warps) * spin_adapted_sums;
    EXPECT_GE(sums(2, coarse), static_cast<std::int64_t>(of_task));
    EXPECT_LE(sums(2, coarse), 1.2 * static_cast<double>(of_task));
  }
  // A few omega2 leave the tiles as they are. If there are very many, tasks are cut.
  for (const std::size_t omega2_count : {1, 20, 300, 10000}) {
    SCOPED_TRACE(std::to_string(omega2_count) + " omega2");
    owned.problem.quotients.assign(omega2_count, 0.1);
    const TileSpace fine = tiles_with_room_for_sums(owned.problem, coarse, shapes, 24 * gib);
    EXPECT_LE(fewest_workers * sum_bytes(owned.problem, fine, shapes), 3 * gib);
    EXPECT_EQ(fine == coarse, omega2_count < 300);
  }
}

// Operands can be read before the free memory of the GPUs is known.
TEST(DeviceBudget, TellsTheTilesInAdvanceIfMemoryIsAmple) {
  OwnedProblem owned(closed_shell(40, 200), SpinFormulation::spin_adapted);
  const TileSpace coarse = owned.right->tiles().retiled(20, 32);
  EXPECT_EQ(likely_panel_tiles(owned.problem, coarse, 80 * gib), coarse);
  EXPECT_EQ(likely_panel_tiles(owned.problem, coarse, 2 * gib), std::nullopt) << "tiles might be cut";
  const TileSpace large = owned.right->tiles().retiled(40, 200);
  EXPECT_EQ(likely_panel_tiles(owned.problem, large, 800 * gib),
            large.refined(largest_hole_tile, largest_particle_tile));
  for (const std::int64_t memory : {24 * gib, 80 * gib, 140 * gib}) {
    SCOPED_TRACE(std::to_string(memory / gib) + " GiB");
    const auto likely = likely_panel_tiles(owned.problem, coarse, memory);
    ASSERT_TRUE(likely);
    // Also if other programs use a half of the memory.
    const std::int64_t budget = device_budget(memory / 2, 0), worker = 600 * mib;
    EXPECT_EQ(tiles_that_fit(owned.problem, coarse, in_doubles, budget, worker_count(budget, worker), worker), *likely);
  }
}

}
}
