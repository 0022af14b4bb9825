#include "cxx/triples/contraction_list.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "cxx/plan/plan.hpp"
#include "tests/support/molecules.hpp"
#include "tests/support/tile_spaces.hpp"

namespace trifuse {
namespace {

using namespace trifuse::testing;

TileSpace closed_shell_space(std::int64_t occupied, std::int64_t virtuals, std::int64_t hole_tile,
                             std::int64_t particle_tile) {
  SyntheticMolecule molecule = closed_shell(occupied, virtuals);
  molecule.hole_tile = hole_tile;
  molecule.particle_tile = particle_tile;
  return make_synthetic_source(molecule)->tiles();
}

TEST(OperationCount, OfTheSpinAdaptedFormIsTwoO3V3TimesOPlusV) {
  for (const auto& [o, v, hole_tile, particle_tile] :
       {std::array{6, 8, 2, 2}, std::array{6, 9, 6, 3}, std::array{8, 6, 4, 6}, std::array{7, 11, 3, 4}}) {
    const Plan plan = make_plan(closed_shell_space(o, v, hole_tile, particle_tile), SpinFormulation::spin_adapted);
    const double o3 = o * o * o, v3 = v * v * v;
    EXPECT_EQ(plan.total_operations, 2.0 * o3 * v3 * (o + v)) << o << " " << v;
  }
}

/// Orbital pairs in blocks of a tile and itself or a later tile.
double ascending_pairs(const TileSpace& space, OrbitalClass c) {
  double pairs = 0.0;
  for (int x = space.first(c); x < space.last(c); ++x) {
    for (int y = x; y < space.last(c); ++y) pairs += static_cast<double>(space[x].size * space[y].size);
  }
  return pairs;
}

TEST(OperationCount, OfTheSpinOrbitalFormFollowsFromPairsOfTiles) {
  for (const auto& [o, v, hole_tile, particle_tile] :
       {std::array{6, 9, 3, 3}, std::array{6, 9, 6, 3}, std::array{9, 12, 3, 4}, std::array{5, 8, 5, 8}}) {
    const TileSpace space = closed_shell_space(o, v, hole_tile, particle_tile);
    const Plan plan = make_plan(space, SpinFormulation::spin_orbital);
    const double oo = ascending_pairs(space, OrbitalClass::hole_alpha);
    const double vv = ascending_pairs(space, OrbitalClass::particle_alpha);
    // aaa: (p, hh') x (pp', h). aab has three kinds of products. The lone indices are an alpha particle and the beta
    // hole, the beta particle and an alpha hole, or an alpha particle and an alpha hole.
    const double aaa = v * oo * vv * o;
    const double aab = (v * oo) * (v * v * o) + (v * o * o) * (vv * o) + (v * o * o) * (v * v * o);
    EXPECT_EQ(plan.total_operations, 2.0 * (o + v) * (aaa + aab)) << o << " " << v;
  }
}

TEST(OperationCount, OfTheSpinOrbitalFormApproachesFourAndAHalfO3V3TimesOPlusV) {
  double last = 1e300;
  for (const int tiles : {1, 2, 4, 8}) {
    const double o = 24, v = 24;
    const Plan plan = make_plan(closed_shell_space(24, 24, 24 / tiles, 24 / tiles), SpinFormulation::spin_orbital);
    const double ratio = plan.total_operations / (o * o * o * v * v * v * (o + v));
    EXPECT_GT(ratio, 4.5);
    EXPECT_LT(ratio, last);
    last = ratio;
  }
  EXPECT_LT(last, 5.2);
}

TEST(OperationCount, ShrinksWithTheNumberOfIrreps) {
  const auto operations = [](int irreps) {
    SyntheticMolecule molecule = closed_shell(16, 32, irreps);
    return make_plan(make_synthetic_source(molecule)->tiles(), SpinFormulation::spin_adapted).total_operations;
  };
  // Each of seven sums over an irrep is cut, tied by two conditions.
  EXPECT_DOUBLE_EQ(operations(1) / operations(2), 4.0);
  EXPECT_DOUBLE_EQ(operations(1) / operations(8), 64.0);
}

template <typename Check>
void for_each_contraction_list(SpinFormulation formulation, const TileSpace& space, Check check) {
  ContractionList contractions;
  const std::vector<Task> tasks = enumerate_tasks(space, formulation);
  ASSERT_FALSE(tasks.empty());
  for (const Task& task : tasks) {
    list_contractions(space, formulation, task, contractions);
    check(task, contractions);
  }
}

TEST(ContractionList, NamesEveryProductOfPanelsOnce) {
  for (const NamedMolecule& molecule : molecules_of_every_kind()) {
    for (const SpinFormulation formulation : molecule.formulations()) {
      std::size_t products = 0;
      for_each_contraction_list(formulation, make_synthetic_source(molecule.molecule)->tiles(),
                                [&](const Task&, const ContractionList& contractions) {
                                  std::set<std::pair<PanelTiles, PanelTiles>> pairs;
                                  for (const Product& product : contractions.products) {
                                    EXPECT_FALSE(product.destinations.empty());
                                    pairs.insert({product.left, product.right});
                                  }
                                  EXPECT_EQ(pairs.size(), contractions.products.size());
                                  products += pairs.size();
                                });
      EXPECT_GT(products, 0u) << molecule.name;
    }
  }
}

TEST(ContractionList, OfDifferentTilesHasThirtySixProductsSpinAdaptedAndNineForOneSpin) {
  const TileSpace space = closed_shell_space(9, 9, 3, 3);
  ContractionList contractions;
  list_contractions(space, SpinFormulation::spin_adapted,
                    make_task(space, SpinFormulation::spin_adapted, {6, 7, 8}, {0, 1, 2}), contractions);
  EXPECT_EQ(contractions.targets, 6);
  EXPECT_EQ(contractions.products.size(), 36u);
  EXPECT_EQ(contractions.disconnected.size(), 18u);
  EXPECT_TRUE(contractions.equivalent_targets.empty());
  list_contractions(space, SpinFormulation::spin_orbital,
                    make_task(space, SpinFormulation::spin_orbital, {6, 7, 8}, {0, 1, 2}), contractions);
  EXPECT_EQ(contractions.targets, 1);
  EXPECT_EQ(contractions.products.size(), 9u);
  EXPECT_EQ(contractions.disconnected.size(), 9u);
}

TEST(ContractionList, OfEqualTilesHasOneProductAndFiveEquivalentTargets) {
  const TileSpace space = closed_shell_space(3, 3, 3, 3);
  ContractionList contractions;
  list_contractions(space, SpinFormulation::spin_adapted,
                    make_task(space, SpinFormulation::spin_adapted, {2, 2, 2}, {0, 0, 0}), contractions);
  ASSERT_EQ(contractions.products.size(), 1u);
  EXPECT_EQ(contractions.products.front().destinations.size(), 6u);
  EXPECT_EQ(contractions.equivalent_targets.size(), 5u);
}

TEST(ContractionList, OfCoincidentTilesOfOneKindHasAllEquivalentTargets) {
  // Tiles 0, 1, 2 are holes, tiles 6, 7, 8 particles. Two equal tiles leave three of six assignments, three leave one.
  const TileSpace space = closed_shell_space(9, 9, 3, 3);
  const auto equivalent_targets = [&](const std::array<int, 3>& particles, const std::array<int, 3>& holes) {
    ContractionList contractions;
    list_contractions(space, SpinFormulation::spin_adapted,
                      make_task(space, SpinFormulation::spin_adapted, particles, holes), contractions);
    return contractions.equivalent_targets.size();
  };
  EXPECT_EQ(equivalent_targets({6, 6, 7}, {0, 1, 2}), 3u);
  EXPECT_EQ(equivalent_targets({6, 7, 7}, {0, 1, 2}), 3u);
  EXPECT_EQ(equivalent_targets({6, 6, 6}, {0, 1, 2}), 5u);
  EXPECT_EQ(equivalent_targets({6, 7, 8}, {0, 0, 1}), 3u);
  EXPECT_EQ(equivalent_targets({6, 7, 8}, {0, 1, 1}), 3u);
  EXPECT_EQ(equivalent_targets({6, 7, 8}, {0, 0, 0}), 5u);
  EXPECT_EQ(equivalent_targets({6, 6, 7}, {0, 0, 1}), 4u);
}

TEST(ContractionList, MultipliesEachSlotOfATaskOncePerDestination) {
  for (const NamedMolecule& molecule : molecules_of_every_kind()) {
    const TileSpace space = make_synthetic_source(molecule.molecule)->tiles();
    for (const SpinFormulation formulation : molecule.formulations()) {
      std::size_t destinations = 0;
      for_each_contraction_list(formulation, space, [&](const Task& task, const ContractionList& contractions) {
        for (const Product& product : contractions.products) {
          for (const Destination& destination : product.destinations) {
            std::array<std::uint8_t, 6> slots = destination.slot;
            for (std::size_t x = 0; x < 6; ++x) {
              const std::size_t slot = slots[x];
              const int tile = slot < 3 ? task.particles[slot] : task.holes[slot - 3];
              EXPECT_EQ(tile, x < 3 ? product.left[x] : product.right[x - 3]);
            }
            std::sort(slots.begin(), slots.end());
            EXPECT_EQ(slots, (std::array<std::uint8_t, 6>{0, 1, 2, 3, 4, 5}));
            ++destinations;
          }
        }
      });
      EXPECT_GT(destinations, 0u) << molecule.name;
    }
  }
}

/// The pairs of a particle and its hole. An element of W depends only on these pairs.
using Pairs = std::multiset<std::pair<int, int>>;
Pairs pairs_of(int target, const std::array<int, 6>& x) {
  Pairs pairs;
  for (std::size_t q = 0; q < 3; ++q) {
    pairs.insert({x[q], x[static_cast<std::size_t>(3 + assignments[static_cast<std::size_t>(target)][q])]});
  }
  return pairs;
}

TEST(EquivalentTargets, StandForTheSamePairsOfOrbitals) {
  std::size_t checked = 0;
  for (const auto& [hole_tile, particle_tile] : {std::pair{3, 3}, std::pair{6, 3}, std::pair{3, 6}, std::pair{6, 6}}) {
    const TileSpace space = closed_shell_space(6, 6, hole_tile, particle_tile);
    for_each_contraction_list(
        SpinFormulation::spin_adapted, space, [&](const Task& task, const ContractionList& contractions) {
          for (const EquivalentTarget& equivalent : contractions.equivalent_targets) {
            EXPECT_LT(equivalent.source, equivalent.target);
            EXPECT_TRUE(std::none_of(contractions.equivalent_targets.begin(), contractions.equivalent_targets.end(),
                                     [&](const EquivalentTarget& other) {
                                       return other.target == equivalent.source && &other > &equivalent;
                                     }))
                << "the source of an equivalent target must be complete before it";
            // Six different orbitals a, b, c, i, j, k have the numbers 0 to 5.
            const std::array<int, 6> x = {0, 1, 2, 3, 4, 5};
            std::array<int, 6> y{};
            for (std::size_t s = 0; s < 6; ++s) {
              y[s] = x[equivalent.slot[s]];
              const auto tile_of = [&](std::size_t slot) {
                return slot < 3 ? task.particles[slot] : task.holes[slot - 3];
              };
              EXPECT_EQ(tile_of(s), tile_of(equivalent.slot[s])) << "only indices of equal tiles may be interchanged";
            }
            EXPECT_EQ(pairs_of(equivalent.target, x), pairs_of(equivalent.source, y));
            ++checked;
          }
        });
  }
  EXPECT_GT(checked, 10u);
}

TEST(EquivalentTargets, LeaveNoTargetWithoutAValue) {
  const TileSpace space = closed_shell_space(6, 6, 3, 3);
  for_each_contraction_list(SpinFormulation::spin_adapted, space,
                            [&](const Task&, const ContractionList& contractions) {
                              std::set<int> filled;
                              for (const Product& product : contractions.products) {
                                for (const Destination& destination : product.destinations)
                                  filled.insert(destination.target);
                              }
                              for (const EquivalentTarget& equivalent : contractions.equivalent_targets)
                                EXPECT_TRUE(filled.insert(equivalent.target).second);
                              EXPECT_EQ(filled.size(), 6u);
                            });
}

}
}
