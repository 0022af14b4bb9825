#include "cxx/plan/task_order.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>

#include "cxx/cuda/schedule/device_budget.hpp"
#include "cxx/prediction/inspector.hpp"
#include "cxx/prediction/panel_memory.hpp"
#include "tests/prediction/all_bytes_sent.hpp"
#include "tests/support/molecules.hpp"

namespace trifuse::testing {
namespace {

/// The positions 0, 1, ... `size` - 1.
std::vector<std::size_t> ascending(std::size_t size) {
  std::vector<std::size_t> positions(size);
  std::iota(positions.begin(), positions.end(), std::size_t{0});
  return positions;
}

TEST(BlockedOrder, HasEachTaskOnce) {
  const auto molecule = make_synthetic_source(open_shell(Reference::uhf, {6, 4, 12, 9}, 2));
  const Plan plan = make_plan(molecule->tiles().retiled(2, 2), SpinFormulation::spin_orbital);
  ASSERT_GT(plan.tasks.size(), 1000u);
  for (const int block : {1, 2, 3, 5, 1000}) {
    std::vector<std::size_t> order = grouped_order(plan.tasks, plan.tiles, block);
    EXPECT_NE(order, ascending(plan.tasks.size()));
    std::sort(order.begin(), order.end());
    EXPECT_EQ(order, ascending(plan.tasks.size()));
  }
  EXPECT_EQ(grouped_order(plan.tasks, plan.tiles, 0), ascending(plan.tasks.size()));
}

// Ranks order the tasks of all, and executors those of a work chunk.
TEST(BlockedOrder, OfSomeTasksIsTheirOrderAmongAll) {
  const auto molecule = make_synthetic_source(closed_shell(12, 40));
  const Plan plan = make_plan(molecule->tiles().retiled(4, 4), SpinFormulation::spin_adapted);
  const std::vector<std::size_t> order = grouped_order(plan.tasks, plan.tiles, 3);
  std::vector<Task> ordered;
  for (const std::size_t task : order) ordered.push_back(plan.tasks[task]);
  EXPECT_EQ(grouped_order(ordered, plan.tiles, 3), ascending(ordered.size()));
  std::vector<std::size_t> some;
  for (std::size_t task = 0; task < plan.tasks.size(); task += 1 + task % 7) some.push_back(task);
  std::vector<Task> part;
  for (const std::size_t task : some) part.push_back(plan.tasks[task]);
  std::vector<std::size_t> expected, found;
  for (const std::size_t task : order) {
    if (std::binary_search(some.begin(), some.end(), task)) expected.push_back(task);
  }
  for (const std::size_t position : grouped_order(part, plan.tiles, 3)) found.push_back(some[position]);
  EXPECT_EQ(found, expected);
}

// Task by task, the tiles of two blocks stay and the third tile changes.
TEST(BlockedOrder, KeepsTwoBlocksWhileTheThirdTileChanges) {
  const auto molecule = make_synthetic_source(closed_shell(4, 36));
  const Plan plan = make_plan(molecule->tiles().retiled(4, 4), SpinFormulation::spin_adapted);
  const int holes = plan.tiles.hole_tiles(), block = 3;
  int pairs = 0, thirds = 0;
  std::array<int, 2> pair{-1, -1};
  int third = -1;
  for (const std::size_t task : grouped_order(plan.tasks, plan.tiles, block)) {
    const auto& particles = plan.tasks[task].particles;
    const std::array<int, 2> now{(particles[0] - holes) / block, (particles[1] - holes) / block};
    if (now == pair && std::abs(particles[2] - third) > 1) ADD_FAILURE() << "a jump from " << third;
    pairs += now != pair ? 1 : 0;
    thirds += now != pair || particles[2] != third ? 1 : 0;
    pair = now;
    third = particles[2];
  }
  // 9 tiles in 3 blocks: 6 pairs, whose third tiles are 9, 6 and 3 for the second block 0, 1 and 2.
  EXPECT_EQ(pairs, 6);
  EXPECT_EQ(thirds, 9 + 2 * 6 + 3 * 3);
}

/// What an LRU cache of panels receives.
struct Sent {
  double panels = 0.0, slabs = 0.0, made = 0.0;  ///< bytes of panels and of slabs; operations that make panels
};

Sent sent_in_order(const Inspection& inspection, const std::vector<std::size_t>& order, double panel_bytes) {
  PanelMemory memory(panel_bytes), slabs(1e18);
  Sent sent;
  for (const std::size_t task : order) {
    for (const std::uint32_t panel : inspection.panels(task)) {
      if (memory.use(panel, inspection.bytes_on_device(panel))) continue;
      sent.panels += inspection.bytes_sent(panel);
      sent.made += inspection.making(panel);
      for (const std::uint32_t slab : inspection.slabs(panel)) {
        if (!slabs.use(slab, inspection.slab_bytes(slab))) sent.slabs += inspection.slab_bytes(slab);
      }
    }
  }
  return sent;
}

class SentInOrder : public ::testing::TestWithParam<std::int64_t> {};

TEST_P(SentInOrder, BlocksSendFarLess) {
  const std::int64_t occupied = 40, virtuals = 512;
  SyntheticMolecule molecule = closed_shell(occupied, virtuals);
  molecule.auxiliary = GetParam();
  const auto source = make_synthetic_source(molecule);
  Problem problem;
  problem.right = source.get();
  problem.formulation = SpinFormulation::spin_adapted;
  const Plan plan = make_plan(source->tiles().retiled_aligned(20, 32, tile_granule), problem.formulation);
  const Inspection inspection(plan, problem);
  const gpu::PanelDemand demand = gpu::panel_demand(problem, plan.tiles, inspection.shape().format);
  const double all = inspection.all_bytes_on_device();
  for (const double part : {0.15, 0.25, 0.4}) {
    SCOPED_TRACE(part);
    const auto capacity = static_cast<std::int64_t>(part * all);
    const int block = gpu::particle_group(capacity, 0, demand);
    const Sent plain = sent_in_order(inspection, grouped_order(plan.tasks, plan.tiles, 0), part * all),
               blocked = sent_in_order(inspection, grouped_order(plan.tasks, plan.tiles, block), part * all);
    EXPECT_LT(blocked.panels, 0.65 * plain.panels);
    EXPECT_EQ(blocked.slabs, plain.slabs) << "each slab once";
    if (molecule.auxiliary == 0) continue;
    EXPECT_LT(blocked.made, 0.6 * plain.made);
    // A pass goes once over all tiles of c.
    const double tiles = static_cast<double>(virtuals) / 32.0;
    double passes = 0.0;
    for (double first = 0; first < tiles; first += block) {
      for (double second = first; second < tiles; second += block) passes += (tiles - second) / tiles;
    }
    const double amplitudes = sizeof(double) * static_cast<double>(occupied * occupied * virtuals * virtuals);
    EXPECT_LT(blocked.panels + blocked.slabs, 1.5 * passes * (amplitudes + blocked.slabs));
  }
  // A cache that holds all panels: the order of the plan, and each panel once.
  EXPECT_EQ(gpu::particle_group(static_cast<std::int64_t>(1.1 * all), 0, demand), 0);
  const Sent once = sent_in_order(inspection, grouped_order(plan.tasks, plan.tiles, 0), 1.1 * all);
  EXPECT_NEAR(once.panels + once.slabs, all_bytes_sent(inspection), 1e-9 * all_bytes_sent(inspection));
}

INSTANTIATE_TEST_SUITE_P(Auxiliary, SentInOrder, ::testing::Values(0, 1500));

}
}
