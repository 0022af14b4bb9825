#include "cxx/cuda/schedule/panel_owner_map.hpp"

#include <gtest/gtest.h>

#include <set>

#include "cxx/cuda/schedule/arena.hpp"
#include "cxx/plan/plan.hpp"
#include "tests/support/float_slices.hpp"
#include "tests/support/small_problems.hpp"

namespace trifuse::gpu {
namespace {

using namespace trifuse::testing;

/// The panels that the tasks of a plan read.
std::set<PanelName> names_read(const Problem& problem, const Plan& plan, const OperandFormat& format) {
  std::set<PanelName> names;
  ContractionList contractions;
  TaskProgram program;
  for (const Task& task : plan.tasks) {
    write_program(problem, plan.tiles, task, format, contractions, program);
    for (const auto& product : program.products) {
      if (product.k_steps > 0) names.insert({product.a, product.b});
    }
    for (const auto& vvoo : program.vvoo) {
      if (vvoo.used) names.insert(vvoo.name);
    }
  }
  return names;
}

/// Calls `check` with each problem, its plan, the layout of its panels, and each of two operand formats.
template <typename Check>
void for_each_layout(Check check) {
  for_each_small_problem([&](const Problem& problem, const Plan& plan) {
    const PanelLayout panels(problem, plan.tiles);
    for (const OperandFormat& format : {format_of<Fp64>(), format_of<Fp32>()}) check(problem, plan, panels, format);
  });
}

TEST(PanelOwners, ExistForEveryPanelThatTasksReadAndForNoOther) {
  for_each_layout([](const Problem& problem, const Plan& plan, const PanelLayout& panels, const OperandFormat& format) {
    const std::int64_t share = PanelLayout::required_doubles(problem, plan.tiles) / 3 + 1;
    const PanelOwnerMap owners(panels, format,
                               [&](const PanelExtent& extent) { return static_cast<int>(extent.begin / share); });
    std::set<PanelName> found;
    for (const int owner : {0, 1, 2}) {
      EXPECT_FALSE(owners.panels_of(owner).empty());
      found.insert(owners.panels_of(owner).begin(), owners.panels_of(owner).end());
    }
    EXPECT_EQ(found.size(), owners.panels_of(0).size() + owners.panels_of(1).size() + owners.panels_of(2).size())
        << "a panel has two owners";
    EXPECT_EQ(found, names_read(problem, plan, format));
  });
}

TEST(PanelOwners, HoldTheirPanelsWithoutGaps) {
  for_each_layout([](const Problem& problem, const Plan& plan, const PanelLayout& panels, const OperandFormat& format) {
    const PanelOwnerMap owners(panels, format, [&](const PanelExtent&) { return 7; });
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

TEST(PanelOwners, MayBeAbsent) {
  for_each_layout([](const Problem& problem, const Plan& plan, const PanelLayout& panels, const OperandFormat& format) {
    const PanelOwnerMap owners(panels, format, [](const PanelExtent&) { return -1; });
    for (const PanelName& name : names_read(problem, plan, format)) EXPECT_FALSE(owners.find(name).has_value());
    EXPECT_EQ(owners.bytes(0), 0);
    EXPECT_TRUE(owners.panels_of(0).empty());
  });
}

}
}
