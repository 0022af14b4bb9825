#include "cxx/operands/panel_layout.hpp"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "cxx/plan/plan.hpp"
#include "tests/support/small_problems.hpp"

namespace trifuse {
namespace {

using namespace trifuse::testing;

TEST(PanelLayout, HasItsPanelsOneRightAfterAnother) {
  for_each_small_problem([](const Problem& problem, const Plan& plan) {
    const PanelLayout layout(problem, plan.tiles);
    std::int64_t end = 0, panels = 0;
    layout.visit([&](const PanelKey& key, const PanelExtent& extent) {
      EXPECT_EQ(extent.begin, end);
      EXPECT_GT(extent.doubles, 0);
      ASSERT_NE(layout.find(key), nullptr);
      EXPECT_EQ(layout.find(key)->begin, extent.begin);
      end += extent.doubles;
      ++panels;
    });
    EXPECT_GT(panels, 0);
    EXPECT_EQ(layout.doubles(), end);
    EXPECT_EQ(PanelLayout::required_doubles(problem, plan.tiles), end);
  });
}

TEST(PanelLayout, GivesEachPanelToOneRankInSectionsThatFollowEachOther) {
  for_each_small_problem([](const Problem& problem, const Plan& plan) {
    const std::vector<OperandShare> shares = {{1.0, 1}, {0.0, 0}, {2.0, 3}};
    const PanelLayout layout(problem, plan.tiles, shares);
    ASSERT_EQ(layout.sections().size(), 4u);
    EXPECT_EQ(layout.sections().front().begin, 0);
    EXPECT_EQ(layout.sections().back().end, layout.doubles());
    for (std::size_t n = 1; n < 4; ++n) EXPECT_EQ(layout.sections()[n - 1].end, layout.sections()[n].begin);
    std::vector<std::int64_t> owned(3);
    std::int64_t last_of_first = 0;
    layout.visit([&](const PanelKey&, const PanelExtent& extent) {
      const PanelSection& section = layout.sections()[layout.section_of(extent)];
      EXPECT_GE(extent.begin, section.begin);
      EXPECT_LE(extent.begin + extent.doubles, section.end);
      EXPECT_EQ(layout.owner(extent), section.rank);
      owned[static_cast<std::size_t>(layout.owner(extent))] += extent.doubles;
      if (layout.owner(extent) == 0) last_of_first = extent.doubles;
    });
    EXPECT_EQ(owned[1], 0);
    // The ranks have shares of 1 and 2. The panel that crosses the border belongs to the first of them.
    EXPECT_GE(3 * owned[0] + 3, layout.doubles());
    EXPECT_LT(3 * (owned[0] - last_of_first), layout.doubles());
  });
}

TEST(PanelLayout, HasThePanelsThatTasksReadAndNoOther) {
  for_each_small_problem([](const Problem& problem, const Plan& plan) {
    const PanelLayout layout(problem, plan.tiles);
    std::set<std::int64_t> read, all;
    ASSERT_FALSE(plan.tasks.empty());
    ContractionList contractions;
    for (const Task& task : plan.tasks) {
      list_contractions(plan.tiles, plan.formulation, task, contractions);
      layout.visit_panels_of(task, contractions, [&](const PanelKey& key) {
        if (const PanelExtent* extent = layout.find(key)) read.insert(extent->begin);
      });
    }
    layout.visit([&](const PanelKey&, const PanelExtent& extent) { all.insert(extent.begin); });
    EXPECT_EQ(read, all);
  });
}

TEST(PanelLayout, LetsEitherSideReadItsPartOfARightPanel) {
  const OwnedProblem owned(closed_shell(6, 11), SpinFormulation::spin_adapted, true);
  const PanelLayout layout(owned.problem, owned.right->tiles().retiled(3, 4));
  int right_panels = 0;
  layout.visit([&](const PanelKey& key, const PanelExtent&) {
    if (key.kind != PanelKind::right) return;
    PanelKey of_left = key;
    of_left.side = Side::left;
    EXPECT_EQ(layout.find(of_left), layout.find(key));
    const PanelRows right = layout.rows(key), left = layout.rows(of_left);
    EXPECT_EQ(left.stride, right.stride);
    EXPECT_EQ(left.particle_part, right.particle_part) << "integrals are stored once";
    EXPECT_NE(left.hole_part, right.hole_part);
    ++right_panels;
  });
  EXPECT_GT(right_panels, 0);
}

}
}
