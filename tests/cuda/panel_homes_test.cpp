#include "cxx/cuda/schedule/panel_homes.hpp"

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
    write_program(problem, plan.tiles, task, Fp64::step, contractions, program);
    for (const auto& phase : program.phases) {
      if (phase.steps > 0) names.insert({phase.a, phase.b});
    }
    for (const auto& pair : program.pairs) {
      if (pair.used) names.insert(pair.name);
    }
  }
  return names;
}

struct Case {
  SyntheticMolecule molecule;
  SpinFormulation formulation;
  bool two_sided = false, fock_in_singles = false;
};

class Homes : public ::testing::Test {
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
      check(owned.problem, plan, PanelStore(owned.problem, plan.tiles));
    }
  }
};

TEST_F(Homes, AreThereForEveryPanelThatTasksReadAndForNoOther) {
  for_each_case([](const Problem& problem, const Plan& plan, const PanelStore& panels) {
    const std::int64_t share = PanelStore::required_doubles(problem, plan.tiles) / 3 + 1;
    const PanelHomes homes(panels, problem.formulation,
                           [&](const PanelStore::Place& place) { return static_cast<int>(place.begin / share); });
    std::set<PanelName> found;
    for (const int home : {0, 1, 2}) {
      EXPECT_FALSE(homes.at(home).empty());
      found.insert(homes.at(home).begin(), homes.at(home).end());
    }
    EXPECT_EQ(found.size(), homes.at(0).size() + homes.at(1).size() + homes.at(2).size()) << "a panel is twice there";
    EXPECT_EQ(found, names_of(problem, plan));
  });
}

TEST_F(Homes, HaveTheirPanelsOneRightAfterAnother) {
  for_each_case([](const Problem& problem, const Plan& plan, const PanelStore& panels) {
    const PanelHomes homes(panels, problem.formulation, [&](const PanelStore::Place&) { return 7; });
    Arena arena(homes.bytes(7));
    for (const PanelName& name : homes.at(7)) {
      const auto place = homes.find(name);
      ASSERT_TRUE(place.has_value());
      EXPECT_EQ(place->home, 7);
      EXPECT_EQ(place->offset, arena.take(packed_bytes(plan.tiles, problem.formulation, name)));
    }
    EXPECT_EQ(arena.used(), arena.size());
  });
}

TEST_F(Homes, MayBeNone) {
  for_each_case([](const Problem& problem, const Plan& plan, const PanelStore& panels) {
    const PanelHomes homes(panels, problem.formulation, [](const PanelStore::Place&) { return -1; });
    for (const PanelName& name : names_of(problem, plan)) EXPECT_FALSE(homes.find(name).has_value());
    EXPECT_EQ(homes.bytes(0), 0);
    EXPECT_TRUE(homes.at(0).empty());
  });
}

}  // namespace
}  // namespace trifuse::gpu
