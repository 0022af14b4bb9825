#include "cxx/prediction/inspector.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <set>

#include "cxx/operands/panel_layout.hpp"
#include "cxx/prediction/prediction.hpp"
#include "tests/prediction/all_bytes_sent.hpp"
#include "tests/support/float_slices.hpp"
#include "tests/support/molecules.hpp"

namespace trifuse::testing {
namespace {

struct Inspected {
  Problem problem;
  Plan plan;
  Inspection inspection;

  Inspected(const TileSpace& tiles, SpinFormulation formulation,
            std::span<const gpu::Shape> shapes = gpu::BulkKernels::shapes)
      : problem(of(formulation)), plan(make_plan(tiles, formulation)), inspection(plan, problem, shapes) {}
  static Problem of(SpinFormulation formulation) {
    Problem problem;
    problem.formulation = formulation;
    return problem;
  }
};

/// A closed shell with factors, in the spin-adapted formulation.
struct WithFactors {
  std::unique_ptr<TileSource> factors;
  Problem problem = Inspected::of(SpinFormulation::spin_adapted);

  explicit WithFactors(SyntheticMolecule molecule) {
    molecule.auxiliary = 30;
    factors = make_synthetic_source(molecule);
    problem.right = factors.get();
  }
};

std::vector<Inspected> examples() {
  std::vector<Inspected> all;
  for (const SpinFormulation formulation : {SpinFormulation::spin_orbital, SpinFormulation::spin_adapted}) {
    for (const int irreps : {1, 4}) {
      const auto molecule = make_synthetic_source(closed_shell(9, 22, irreps));
      all.emplace_back(molecule->tiles().retiled_aligned(4, 8, tile_granule), formulation);
    }
  }
  return all;
}

TEST(Inspection, ListsThePanelsOfEachTaskOnce) {
  for (const Inspected& each : examples()) {
    const Inspection& inspection = each.inspection;
    ASSERT_FALSE(each.plan.tasks.empty());
    ASSERT_EQ(inspection.tasks(), each.plan.tasks.size());
    ContractionList contractions;
    gpu::TaskProgram program;
    std::set<gpu::PanelName> all;
    double largest = 0.0;
    for (std::size_t t = 0; t < inspection.tasks(); ++t) {
      gpu::write_program(each.problem, each.plan.tiles, each.plan.tasks[t], inspection.shape().format, contractions,
                         program);
      std::set<gpu::PanelName> names;
      for (const auto& product : program.products) {
        if (product.k_steps > 0) names.insert({product.a, product.b});
      }
      for (const auto& vvoo : program.vvoo) {
        if (vvoo.used) names.insert(vvoo.name);
      }
      const auto listed = inspection.panels(t);
      EXPECT_EQ(listed.size(), names.size());
      EXPECT_EQ(std::set<std::uint32_t>(listed.begin(), listed.end()).size(), names.size());
      all.insert(names.begin(), names.end());
      double bytes = 0.0;
      for (const std::uint32_t panel : listed) bytes += inspection.bytes_on_device(panel);
      largest = std::max(largest, bytes);
    }
    EXPECT_EQ(inspection.panel_count(), all.size());
    EXPECT_EQ(inspection.largest_task_bytes(), largest);
  }
}

TEST(Inspection, KnowsTheBytesThatTheHostHas) {
  // One tile of each kind: no panel is read in two orders, and tasks read all panels.
  const auto molecule = make_synthetic_source(closed_shell(6, 14, 1));
  const Inspected one(molecule->tiles().retiled_aligned(8, 16, tile_granule), SpinFormulation::spin_adapted);
  ASSERT_EQ(one.plan.tasks.size(), 1u);
  double host = 0.0;
  std::set<double> sizes;
  for (const std::uint32_t panel : one.inspection.panels(0)) sizes.insert(one.inspection.bytes_sent(panel));
  for (const double size : sizes) host += size;
  EXPECT_EQ(host, 8.0 * static_cast<double>(PanelLayout::required_doubles(one.problem, one.plan.tiles)));
  // On the device holes are filled up to fours, 6 to 8 of them.
  EXPECT_GT(one.inspection.all_bytes_on_device(), all_bytes_sent(one.inspection));
}

TEST(Inspection, KnowsTheSlabsOfMadePanels) {
  for (const SpinFormulation formulation : {SpinFormulation::spin_orbital, SpinFormulation::spin_adapted}) {
    for (const int irreps : {1, 4}) {
      SyntheticMolecule molecule = closed_shell(8, 24, irreps);
      const auto stored = make_synthetic_source(molecule);
      molecule.auxiliary = 30;
      const auto factors = make_synthetic_source(molecule);
      const TileSpace tiles = factors->tiles().retiled_aligned(4, 8, tile_granule);
      Problem with = Inspected::of(formulation), without = with;
      with.right = factors.get();
      without.right = stored.get();
      const Plan plan = make_plan(tiles, formulation);
      const Inspection made(plan, with), sent(plan, without);
      // Packed panels are the same. Of made panels only holes are sent.
      ASSERT_EQ(made.panel_count(), sent.panel_count());
      EXPECT_EQ(made.all_bytes_on_device(), sent.all_bytes_on_device());
      EXPECT_EQ(sent.slab_count(), 0U);
      EXPECT_EQ(sent.all_making(), 0.0);
      double making = 0.0, on_device = 0.0;
      for (std::uint32_t panel = 0; panel < made.panel_count(); ++panel) {
        EXPECT_TRUE(sent.slabs(panel).empty());
        EXPECT_EQ(made.slabs(panel).empty(), made.making(panel) == 0.0);
        making += made.making(panel);
        if (made.making(panel) > 0.0) {
          EXPECT_LE(made.bytes_sent(panel), sent.bytes_sent(panel));  // equal if padding hides the particles
        } else {
          on_device += made.bytes_on_device(panel);
        }
      }
      EXPECT_EQ(made.all_making(), making);
      EXPECT_NEAR(made.all_bytes_on_device_of_sent(), on_device, 1e-9 * on_device);
      // The layout has the same slabs, with other padding.
      std::size_t slabs = 0;
      double bytes = 0.0, of_slabs = 0.0;
      PanelLayout(with, tiles).visit([&](const PanelKey& key, const PanelExtent& extent) {
        if (!is_slab(key.kind)) return;
        ++slabs;
        bytes += static_cast<double>(extent.doubles) * sizeof(double);
      });
      EXPECT_EQ(made.slab_count(), slabs);
      for (std::uint32_t slab = 0; slab < made.slab_count(); ++slab) of_slabs += made.slab_bytes(slab);
      EXPECT_NEAR(of_slabs, bytes, 0.3 * bytes);
      EXPECT_GE(of_slabs, bytes);
    }
  }
}

TEST(Inspection, CountsTheOperationsOfMakingPanels) {
  const WithFactors molecule(closed_shell(4, 8));
  const Inspection inspection(make_plan(molecule.factors->tiles().retiled(4, 8), molecule.problem.formulation),
                              molecule.problem);
  // One tile of each kind, so each left panel has all (ph|h'l), each right one all (pd|p'h), each vvoo block all
  // (ph|p'h').
  std::set<double> operations;
  for (std::uint32_t panel = 0; panel < inspection.panel_count(); ++panel) {
    if (!inspection.slabs(panel).empty()) operations.insert(inspection.making(panel));
  }
  EXPECT_EQ(operations,
            (std::set<double>{2.0 * 30 * 4 * 4 * 4 * 8, 2.0 * 30 * 4 * 8 * 8 * 8, 2.0 * 30 * 4 * 4 * 8 * 8}));
  EXPECT_GT(inspection.all_making(), 0.0);
}

// Derivatives in mixed precision read each panel in two formats, and each is made.
TEST(Inspection, CountsEachFormatOfMadePanels) {
  const WithFactors molecule(closed_shell(8, 24));
  Problem with_derivatives = molecule.problem;
  with_derivatives.derivatives = Derivatives::all;
  const Plan plan =
      make_plan(molecule.factors->tiles().retiled_aligned(4, 8, tile_granule), molecule.problem.formulation);
  const Inspection one(plan, molecule.problem, Precision::mixed), two(plan, with_derivatives, Precision::mixed);
  ASSERT_EQ(one.panel_count(), two.panel_count());
  std::size_t twice = 0;
  for (std::uint32_t panel = 0; panel < one.panel_count(); ++panel) {
    const double copies = two.bytes_on_device(panel) / one.bytes_on_device(panel);
    EXPECT_TRUE(copies == 1.0 || copies == 2.0);
    EXPECT_EQ(two.making(panel), copies * one.making(panel));
    EXPECT_EQ(two.bytes_sent(panel), copies * one.bytes_sent(panel));
    if (copies == 2.0 && one.making(panel) > 0.0) ++twice;
  }
  EXPECT_GT(twice, 0U);
}

TEST(Inspection, CountsTheOperationsThatAreExecuted) {
  for (const Inspected& each : examples()) {
    int different = 0;
    for (std::size_t t = 0; t < each.inspection.tasks(); ++t) {
      const KernelWork& work = each.inspection.work(t);
      EXPECT_GT(work.filled(), 0.0);
      EXPECT_LE(work.operations, 1.1 * work.executed);
      EXPECT_GE(work.targets, work.cta_tiles);
      const auto& [particles, holes, factor, spin_case] = each.plan.tasks[t];
      const bool coincide =
          particles[0] == particles[1] || particles[1] == particles[2] || holes[0] == holes[1] || holes[1] == holes[2];
      if (coincide) continue;
      ++different;
      EXPECT_NEAR(work.operations, each.plan.operations[t], 1e-9 * each.plan.operations[t]);
    }
    EXPECT_GT(different, 0);
  }
}

// Kernels with operands in floats: the host sends the same bytes, and the device stores half of them.
TEST(Inspection, FollowsTheFormatOfTheOperands) {
  constexpr std::array<gpu::Shape, 1> in_doubles = {gpu::shape_of<gpu::FmaIn<gpu::Fp64>>()},
                                      in_floats = {gpu::shape_of<gpu::FmaIn<gpu::Fp32>>()};
  const auto molecule = make_synthetic_source(closed_shell(9, 22, 4));
  const TileSpace tiles = molecule->tiles().retiled_aligned(4, 8, tile_granule);
  const Inspected doubles(tiles, SpinFormulation::spin_adapted, in_doubles),
      floats(tiles, SpinFormulation::spin_adapted, in_floats);
  ASSERT_EQ(floats.inspection.panel_count(), doubles.inspection.panel_count());
  std::size_t half = 0, equal = 0;
  for (std::uint32_t panel = 0; panel < floats.inspection.panel_count(); ++panel) {
    EXPECT_EQ(floats.inspection.bytes_sent(panel), doubles.inspection.bytes_sent(panel));
    const double ratio = floats.inspection.bytes_on_device(panel) / doubles.inspection.bytes_on_device(panel);
    EXPECT_TRUE(ratio == 0.5 || ratio == 1.0);
    ++(ratio == 0.5 ? half : equal);
  }
  // vvoo blocks stay doubles.
  EXPECT_GT(half, equal);
  EXPECT_GT(equal, 0u);
  const MachineModel machine = machine_model("h200");
  const GpuMemory of_doubles = gpu_memory(doubles.plan, doubles.problem, doubles.inspection, machine, 0.0),
                  of_floats = gpu_memory(floats.plan, floats.problem, floats.inspection, machine, 0.0);
  EXPECT_EQ(of_floats.all_panels, floats.inspection.all_bytes_on_device());
  for (const auto member : {&GpuMemory::all_panels, &GpuMemory::working_set, &GpuMemory::task_bound}) {
    EXPECT_LT(of_floats.*member, 0.7 * of_doubles.*member);
    EXPECT_GT(of_floats.*member, 0.5 * of_doubles.*member);
  }
  // The instructions and the CTA tiles are the same.
  for (std::size_t t = 0; t < floats.inspection.tasks(); ++t) {
    EXPECT_EQ(floats.inspection.work(t).operations, doubles.inspection.work(t).operations);
    EXPECT_EQ(floats.inspection.work(t).cta_tiles, doubles.inspection.work(t).cta_tiles);
  }
}

TEST(Inspection, ListsPanelsThatTasksShare) {
  const Inspected each = examples().front();
  double apart = 0.0;
  for (std::size_t t = 0; t < each.inspection.tasks(); ++t) {
    for (const std::uint32_t panel : each.inspection.panels(t)) apart += each.inspection.bytes_sent(panel);
  }
  EXPECT_GT(apart, 2.0 * all_bytes_sent(each.inspection));
}

}
}
