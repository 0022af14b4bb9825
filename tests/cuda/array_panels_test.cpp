#include "cxx/cuda/schedule/array_panels.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <vector>

#include "cxx/operands/panel_store.hpp"
#include "cxx/plan/plan.hpp"
#include "tce_tiles/dump_files/dump_source.hpp"
#include "tests/support/arrays_of_molecules.hpp"
#include "tests/support/molecules.hpp"

/// Panels in dense arrays have the numbers of the host's panels.
namespace trifuse::gpu {
namespace {

using namespace trifuse::testing;

/// The names of all panels that the tasks of a plan read.
std::set<PanelName> names_of_plan(const Problem& problem, const Plan& plan) {
  std::set<PanelName> names;
  ContractionList contractions;
  TaskProgram program;
  for (const Task& task : plan.tasks) {
    write_program(problem, plan.tiles, task, format_of<Fp64>(), contractions, program);
    for (const auto& product : program.products) {
      if (product.k_steps > 0) names.insert({product.a, product.b});
    }
    for (const auto& vvoo : program.vvoo) {
      if (vvoo.used) names.insert(vvoo.name);
    }
  }
  return names;
}

StridedView view_of(const TileSource& source, ArrayKind kind) {
  const DenseInput& input = *dense_input_of(source);
  return open_array(*input.arrays, input.header, array_spec(kind, true, Spin::alpha, Spin::beta))->view().value();
}

class ArrayPanels : public ::testing::TestWithParam<NamedMolecule> {
 protected:
  /// Compares each number of each panel. Returns how many panels have the reverse order of tiles.
  static std::size_t compare(const Problem& problem, std::int64_t hole_tile, std::int64_t particle_tile) {
    const TileSpace tiles = problem.right->tiles().retiled(hole_tile, particle_tile);
    const PanelStore store(problem, tiles);
    const PanelArrays arrays = {view_of(*problem.right, ArrayKind::t2), view_of(*problem.right, ArrayKind::ovvv),
                                view_of(*problem.right, ArrayKind::ovoo), view_of(*problem.right, ArrayKind::ovov)};
    std::size_t swapped = 0, numbers = 0;
    for (const PanelName& name : names_of_plan(problem, make_plan(tiles, problem.formulation))) {
      const Panel panel = store.acquire(name.key);
      const Packing packing = packing_of(tiles, problem.formulation, name, panel.stride);
      const VvooTensor tensor =
          name.key.kind == PanelKind::vvoo ? problem.method.sets()[name.key.set].vvoo : VvooTensor::v2;
      const ArrayRows rows = rows_in_arrays(tiles, name, tensor, arrays);
      for (std::int64_t n = 0; n < packed_size<Fp64>(packing); ++n) {
        const PackedIndices at = packed_indices<Fp64>(packing, n);
        if (!at.inside) continue;
        ++numbers;
        EXPECT_EQ(array_number(rows, at), panel.data[raw_offset(packing, at)]) << "number " << n << " of a panel";
        if (::testing::Test::HasFailure()) return 0;
      }
      swapped += name.swapped ? 1 : 0;
    }
    EXPECT_GT(numbers, 1000U);
    return swapped;
  }
};

TEST_P(ArrayPanels, HaveTheNumbersOfTheHostsPanels) {
  using Layout = HeldArrays::Layout;
  std::size_t swapped = 0;
  for (const Layout layout : {Layout::c_order, Layout::fortran_order, Layout::with_gaps}) {
    const ArraysOfMolecule molecule(GetParam().molecule, layout);
    Problem problem;
    problem.right = &molecule.source();
    problem.formulation = SpinFormulation::spin_adapted;
    ASSERT_TRUE(has_array_panels(problem));
    for (const std::int64_t tile : {2, 16}) {
      SCOPED_TRACE(tile);
      swapped += compare(problem, tile, tile + 1);
    }
    // A set of disconnected factors with t2.
    problem.method = ccsd_t_with_fock;
    swapped += compare(problem, 2, 3);
  }
  EXPECT_GT(swapped, 0U);
}

INSTANTIATE_TEST_SUITE_P(ClosedShells, ArrayPanels, ::testing::ValuesIn(closed_shells()), molecule_name);

}
}
