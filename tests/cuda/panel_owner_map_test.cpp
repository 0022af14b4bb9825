#include "cxx/cuda/schedule/panel_owner_map.hpp"

#include <gtest/gtest.h>

#include <set>

#include "cxx/cuda/schedule/arena.hpp"
#include "cxx/plan/plan.hpp"
#include "tests/support/problems.hpp"

namespace trifuse::gpu {
namespace {

using namespace trifuse::testing;

/// The panels that the tasks of a plan read.
std::set<PanelName> names_of(const Problem& problem, const Plan& plan) {
  std::set<PanelName> names;
  ContractionList contractions;
  TaskProgram program;
  for (const Task& task : plan.tasks) {
    write_program(problem, plan.tiles, task, Fp64::k_step, contractions, program);
    for (const auto& product : program.products) {
      if (product.k_steps > 0) names.insert({product.a, product.b});
    }
    for (const auto& vvoo : program.vvoo) {
      if (vvoo.used) names.insert(vvoo.name);
    }
  }
  return names;
}

struct Case {
  SyntheticMolecule molecule;
  SpinFormulation formulation;
  bool two_sided = false, fock_in_singles = false;
};

class PanelOwners : public ::testing::Test {
 protected:
  static std::vector<Case> cases() {
    return {{closed_shell(6, 11), SpinFormulation::spin_adapted},
            {closed_shell(6, 11), SpinFormulation::spin_orbital},
            {closed_shell(6, 11), SpinFormulation::spin_adapted, true},
            {open_shell(Reference::uhf, {5, 4, 8, 9}, 2), SpinFormulation::spin_orbital, true},
            {open_shell(Reference::rohf, {5, 4, 8, 9}, 1), SpinFormulation::spin_orbital, false, true}};
  }
  /// Calls `check` with the panels of each case in small tiles.
  template <typename Check>
  static void for_each_case(Check check) {
    for (const Case& each : cases()) {
      OwnedProblem owned(each.molecule, each.formulation, each.two_sided);
      owned.problem.fock_in_singles = each.fock_in_singles;
      SCOPED_TRACE(to_string(each.formulation) + (each.two_sided ? ", two-sided" : "") +
                   (each.fock_in_singles ? ", Fock in singles" : ""));
      const Plan plan = make_plan(owned.right->tiles().retiled(3, 4), each.formulation);
      check(owned.problem, plan, PanelLayout(owned.problem, plan.tiles));
    }
  }
};

TEST_F(PanelOwners, ExistForEveryPanelThatTasksReadAndForNoOther) {
  for_each_case([](const Problem& problem, const Plan& plan, const PanelLayout& panels) {
    const std::int64_t share = PanelLayout::required_doubles(problem, plan.tiles) / 3 + 1;
    const PanelOwnerMap owners(panels,
                               [&](const PanelExtent& extent) { return static_cast<int>(extent.begin / share); });
    std::set<PanelName> found;
    for (const int owner : {0, 1, 2}) {
      EXPECT_FALSE(owners.panels_of(owner).empty());
      found.insert(owners.panels_of(owner).begin(), owners.panels_of(owner).end());
    }
    EXPECT_EQ(found.size(), owners.panels_of(0).size() + owners.panels_of(1).size() + owners.panels_of(2).size())
        << "a panel has two owners";
    EXPECT_EQ(found, names_of(problem, plan));
  });
}

TEST_F(PanelOwners, HoldTheirPanelsWithoutGaps) {
  for_each_case([](const Problem& problem, const Plan& plan, const PanelLayout& panels) {
    const PanelOwnerMap owners(panels, [&](const PanelExtent&) { return 7; });
    Arena arena(owners.bytes(7));
    for (const PanelName& name : owners.panels_of(7)) {
      const auto location = owners.find(name);
      ASSERT_TRUE(location.has_value());
      EXPECT_EQ(location->owner, 7);
      EXPECT_EQ(location->offset, arena.allocate(packed_bytes(plan.tiles, problem.formulation, name)));
    }
    EXPECT_EQ(arena.used(), arena.size());
  });
}

TEST_F(PanelOwners, MayBeAbsent) {
  for_each_case([](const Problem& problem, const Plan& plan, const PanelLayout& panels) {
    const PanelOwnerMap owners(panels, [](const PanelExtent&) { return -1; });
    for (const PanelName& name : names_of(problem, plan)) EXPECT_FALSE(owners.find(name).has_value());
    EXPECT_EQ(owners.bytes(0), 0);
    EXPECT_TRUE(owners.panels_of(0).empty());
  });
}

}  // namespace
}  // namespace trifuse::gpu
