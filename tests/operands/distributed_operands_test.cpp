#include "cxx/operands/distributed_operands.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <set>
#include <vector>

#include "cxx/base/error.hpp"
#include "cxx/cpu/cpu_executor.hpp"
#include "tests/support/factored_source.hpp"
#include "tests/support/problems.hpp"
#include "tests/support/thread_communicator.hpp"

namespace trifuse::testing {
namespace {

constexpr std::int64_t everything = std::numeric_limits<std::int64_t>::max();
/// Small tiles make many panels.
constexpr CpuTiles limits = {2, 3};

std::int64_t bytes_of(std::int64_t doubles) {
  return doubles * static_cast<std::int64_t>(sizeof(double));
}

struct Case {
  std::string name;
  SyntheticMolecule molecule;
  SpinFormulation formulation;
  bool two_sided, fock;
  bool factors = false;
};
std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << c.name;
}

/// A closed shell whose source has several tiles of particles, so that a rank need not read all blocks.
SyntheticMolecule in_small_tiles(std::int64_t occupied, std::int64_t virtuals, int irreps = 1) {
  SyntheticMolecule molecule = closed_shell(occupied, virtuals, irreps);
  molecule.hole_tile = 2;
  molecule.particle_tile = 3;
  return molecule;
}

/// Returns the size of all panels of other ranks that the tasks of a plan read, in bytes, each panel once. `rank`:
/// number of this rank.
std::int64_t bytes_of_others(const PanelLayout& layout, const Plan& plan, int rank) {
  std::set<std::int64_t> seen;
  std::int64_t doubles = 0;
  ContractionList contractions;
  for (const Task& task : plan.tasks) {
    for (const Task& subtask : refine_task(plan.tiles, layout.tiles(), layout.formulation(), task)) {
      list_contractions(layout.tiles(), layout.formulation(), subtask, contractions);
      layout.visit_panels_of(subtask, contractions, [&](const PanelKey& key) {
        layout.visit_parts_of(key, [&](const PanelExtent& extent) {
          if (layout.owner(extent) != rank && seen.insert(extent.begin).second) doubles += extent.doubles;
        });
      });
    }
  }
  return bytes_of(doubles);
}

class SharedOperands : public ::testing::TestWithParam<Case> {
 protected:
  OwnedProblem owned{GetParam().molecule, GetParam().formulation, GetParam().two_sided};
  Plan plan = [&] {
    if (GetParam().fock) owned.problem.method = ccsd_t_with_fock;
    if (GetParam().factors) {
      owned.right = std::make_unique<FactoredSource>(GetParam().molecule, 23, false);
      owned.problem.right = owned.right.get();
    }
    owned.problem.quotients = {0.0, 0.1};
    return make_plan(owned.right->tiles().retiled(3, 4), owned.problem.formulation);
  }();
  std::vector<double> alone =
      task_numbers(*make_cpu_executor(owned.problem, plan.tiles, limits), plan, owned.problem.quotients.size());

  /// Executes all tasks on every rank, with `bytes` bytes for operands. Then calls `see` with the operands, the
  /// traffic and the number of each rank.
  template <typename See>
  void expect_same_bits(int ranks, std::int64_t bytes, See see) {
    const auto failures = failures_of_ranks(
        ranks,
        [&](Communicator& communicator) {
          const auto executor = prepare_cpu_executor(owned.problem, plan.tiles, limits);
          DistributedOperands operands(communicator, owned.problem, plan.tiles, &executor->panel_tiles(), {}, bytes);
          executor->take_panels(operands.panels());
          EXPECT_EQ(task_numbers(*executor, plan, owned.problem.quotients.size()), alone);
          see(operands, operands.traffic(communicator)[static_cast<std::size_t>(communicator.rank())],
              communicator.rank());
        },
        true);
    EXPECT_EQ(failures, std::vector<std::string>(static_cast<std::size_t>(ranks)));
  }
};

INSTANTIATE_TEST_SUITE_P(
    Problem, SharedOperands,
    ::testing::Values(
        Case{"RHF spin-adapted", in_small_tiles(5, 9, 2), SpinFormulation::spin_adapted, false, false},
        Case{"RHF spin-orbital", in_small_tiles(4, 7), SpinFormulation::spin_orbital, false, false},
        Case{"RHF spin-adapted two-sided", in_small_tiles(5, 9), SpinFormulation::spin_adapted, true, false},
        Case{"UHF", open_shell(Reference::uhf, {4, 3, 5, 6}, 2), SpinFormulation::spin_orbital, false, false},
        Case{"UHF two-sided", open_shell(Reference::uhf, {4, 3, 5, 6}), SpinFormulation::spin_orbital, true, false},
        Case{"ROHF", open_shell(Reference::rohf, {4, 2, 4, 6}), SpinFormulation::spin_orbital, false, false},
        Case{"ROHF with Fock in the singles", open_shell(Reference::rohf, {4, 2, 4, 6}), SpinFormulation::spin_orbital,
             false, true},
        Case{"RHF spin-adapted with factors", in_small_tiles(5, 9, 2), SpinFormulation::spin_adapted, false, false,
             true},
        Case{"RHF spin-orbital with factors", in_small_tiles(4, 7), SpinFormulation::spin_orbital, false, false, true},
        Case{"RHF spin-adapted two-sided with factors", in_small_tiles(5, 9), SpinFormulation::spin_adapted, true,
             false, true},
        Case{"UHF with factors", open_shell(Reference::uhf, {4, 3, 5, 6}, 4), SpinFormulation::spin_orbital, false,
             false, true}),
    [](const auto& test) { return as_test_name(test.param.name); });

TEST_P(SharedOperands, GiveTheBitsOfOneProcessAndAreFetchedOnce) {
  for (const int ranks : {1, 2, 3, 4}) {
    expect_same_bits(ranks, everything, [&](const auto& operands, const OperandTraffic& traffic, int rank) {
      const TileSpace& tiles = operands.panels()->tiles();
      const std::int64_t all = bytes_of(PanelLayout::required_doubles(owned.problem, tiles));
      const std::int64_t panel = bytes_of(PanelLayout::doubles_in_use(owned.problem, tiles));
      EXPECT_NEAR(static_cast<double>(traffic.own_bytes), static_cast<double>(all) / ranks, static_cast<double>(panel));
      EXPECT_EQ(traffic.bytes_of_others, all - traffic.own_bytes);
      const std::int64_t needed = bytes_of_others(operands.panels()->layout(), plan, rank);
      EXPECT_LE(needed, traffic.bytes_of_others);
      EXPECT_EQ(traffic.fetched_bytes, needed);
      EXPECT_EQ(needed == 0, ranks == 1);
      EXPECT_GE(traffic.panels_wanted, traffic.panels_hit);
    });
  }
}

TEST_P(SharedOperands, GiveTheSameBitsWithHardlyAnyMemory) {
  for (const int ranks : {2, 3}) {
    const std::int64_t all = bytes_of(PanelLayout::required_doubles(owned.problem, plan.tiles));
    for (const std::int64_t cache : {std::int64_t{0}, all / 10}) {
      expect_same_bits(ranks, all / ranks + cache,
                       [&](const DistributedOperands& operands, const OperandTraffic& traffic, int) {
                         EXPECT_GT(traffic.fetched_bytes, traffic.bytes_of_others / 2);
                         // The panels that a worker uses, and the panels that are prefetched.
                         const std::int64_t in_use =
                             bytes_of(PanelLayout::doubles_in_use(owned.problem, operands.panels()->tiles()) + 1000);
                         EXPECT_LE(traffic.cache_bytes, std::max(cache + in_use, in_use));
                       });
    }
  }
}

/// The source of rank 0 has other tiles than the panels.
TEST_P(SharedOperands, AreReadInPartsFromTheSources) {
  std::vector<std::int64_t> read(4);
  expect_same_bits(1, everything, [&](const DistributedOperands&, const OperandTraffic& traffic, int) {
    read[0] = traffic.read_bytes;
  });
  const std::int64_t by_one = read[0];
  const auto failures = failures_of_ranks(
      4,
      [&](Communicator& communicator) {
        const DistributedOperands operands(communicator, owned.problem, plan.tiles, &plan.tiles, {}, everything);
        read[static_cast<std::size_t>(communicator.rank())] =
            operands.traffic(communicator)[static_cast<std::size_t>(communicator.rank())].read_bytes;
      },
      true);
  EXPECT_EQ(failures, std::vector<std::string>(4));
  for (const std::int64_t bytes : read) EXPECT_LT(bytes, by_one);
}

class SharedOperandsOfRanks : public ::testing::Test {
 protected:
  OwnedProblem owned{closed_shell(5, 9), SpinFormulation::spin_orbital};
  Plan plan = make_plan(owned.right->tiles().retiled(3, 4), owned.problem.formulation);
};

TEST_F(SharedOperandsOfRanks, HaveAPartOfEveryTilingThatARankNeeds) {
  const std::vector<double> alone = task_numbers(*make_cpu_executor(owned.problem, plan.tiles, limits), plan, 1);
  constexpr CpuTiles other = {3, 2};
  const std::vector<double> alone_other = task_numbers(*make_cpu_executor(owned.problem, plan.tiles, other), plan, 1);
  const auto failures = failures_of_ranks(
      4,
      [&](Communicator& communicator) {
        const bool asks = communicator.rank() != 3;
        const auto executor =
            prepare_cpu_executor(owned.problem, plan.tiles, communicator.rank() == 1 ? other : limits);
        const DistributedOperands operands(communicator, owned.problem, plan.tiles,
                                           asks ? &executor->panel_tiles() : nullptr, {}, everything);
        const std::vector<OperandTraffic> traffic = operands.traffic(communicator);
        const std::int64_t both = bytes_of(PanelLayout::required_doubles(owned.problem, plan.tiles.refined(2, 3)) +
                                           PanelLayout::required_doubles(owned.problem, plan.tiles.refined(3, 2)));
        std::int64_t sum = 0;
        for (const OperandTraffic& rank : traffic) sum += rank.own_bytes;
        EXPECT_EQ(sum, both);
        EXPECT_GT(traffic[3].own_bytes, both / 5);
        // A rank that finishes waits for the others, because they may still read its panels.
        run_collectively(&communicator, [&] {
          executor->take_panels(operands.panels());
          EXPECT_EQ(task_numbers(*executor, plan, 1), communicator.rank() == 1 ? alone_other : alone);
        });
      },
      true);
  EXPECT_EQ(failures, std::vector<std::string>(4));
}

TEST_F(SharedOperandsOfRanks, DoNotExistIfNoRankNeedsPanels) {
  const auto failures = failures_of_ranks(
      2,
      [&](Communicator& communicator) {
        const DistributedOperands operands(communicator, owned.problem, plan.tiles, nullptr, {}, everything);
        EXPECT_EQ(operands.panels(), nullptr);
      },
      true);
  EXPECT_EQ(failures, std::vector<std::string>(2));
}

/// As CPU workers beside GPUs do: panels have the tiles of the plan, and threads of one worker share the subtasks.
TEST_P(SharedOperands, OfLargeTilesAreReadByCoresInParts) {
  for (const int ranks : {2, 3}) {
    for (const std::int64_t cache : {std::int64_t{0}, everything / 2}) {
      const auto failures = failures_of_ranks(
          ranks,
          [&](Communicator& communicator) {
            const bool asks = communicator.rank() == 0;
            const DistributedOperands operands(
                communicator, owned.problem, plan.tiles, asks ? &plan.tiles : nullptr, {},
                bytes_of(PanelLayout::required_doubles(owned.problem, plan.tiles)) + cache);
            const auto executor = prepare_cpu_executor(owned.problem, plan.tiles, limits, communicator.rank());
            executor->take_panels(operands.panels());
            run_collectively(&communicator, [&] {
              const std::vector<double> found = task_numbers(*executor, plan, owned.problem.quotients.size());
              EXPECT_LT(relative_difference(found, alone), 1e-12);
            });
          },
          true);
      EXPECT_EQ(failures, std::vector<std::string>(static_cast<std::size_t>(ranks)));
    }
  }
}

}
}
