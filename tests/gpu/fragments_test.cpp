#include <gtest/gtest.h>

#include "cxx/cpu/reference_executor.hpp"
#include "cxx/moments/fragments.hpp"
#include "tests/gpu/gpu_test_support.hpp"
#include "tests/support/fragments_of_molecules.hpp"

/// Both right sides of a fragment, whose integrals have no symmetry.
namespace trifuse {
namespace {

using namespace trifuse::testing;

class FragmentsOnGpu : public OnGpuForMolecule {};

TEST_P(FragmentsOnGpu, AgreeWithTheReference) {
  const FragmentsOfMolecule molecule(GetParam().molecule);
  const auto source = molecule.open();
  const moments::Fragments fragments(*source);
  for (const SpinFormulation formulation : GetParam().formulations()) {
    for (const moments::FragmentSide side : moments::fragment_sides) {
      SCOPED_TRACE(to_string(formulation));
      const auto operands = fragments.side(0, side, 1);
      Problem problem;
      problem.right = operands.get();
      problem.left = problem.left_integrals = source.get();
      problem.formulation = formulation;
      expect_agreement(problem, source->tiles().retiled(2, 4), {usable_kernels().front()}, make_reference_executor);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Every, FragmentsOnGpu, ::testing::ValuesIn(molecules_of_every_kind()), molecule_name);

}
}
