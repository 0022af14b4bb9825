#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "cxx/cpu/cpu_executor.hpp"
#include "cxx/cuda/runtime/choose_devices.hpp"
#include "cxx/operands/derivative_sums.hpp"
#include "cxx/parallel/run_tasks.hpp"
#include "tests/gpu/gpu_test_support.hpp"
#include "tests/support/derivatives_of_reference.hpp"
#include "tests/support/other_methods.hpp"

/// Compares the derivatives of GPUs with the reference evaluation, element by element.
namespace trifuse {
namespace {

using namespace trifuse::testing;

struct Wanted {
  SpinFormulation formulation;
  bool two_sided;
  Method method = ccsd_t;
  Derivatives derivatives = Derivatives::all;
};

/// Compares the derivatives and the energies of a problem. `sizes`: of the orbital tiles.
void expect_derivatives_of_the_reference(const SyntheticMolecule& molecule, const Wanted& wanted,
                                         const TileSizes& sizes, const CudaOptions& options) {
  SCOPED_TRACE(to_string(wanted.formulation) + (wanted.two_sided ? ", two sides" : "") + ", tiles of " +
               std::to_string(sizes.holes) + " and " + std::to_string(sizes.particles) + ", " + options.kernel);
  OwnedProblem owned(molecule, wanted.formulation, wanted.two_sided);
  Problem& problem = owned.problem;
  problem.method = wanted.method;
  problem.quotients = {0.05};
  problem.derivatives = wanted.derivatives;
  const Plan plan = make_plan(owned.right->tiles().retiled(sizes.holes, sizes.particles), wanted.formulation);
  ASSERT_FALSE(plan.tasks.empty());
  const auto executor = make_cuda_executor(problem, plan.tiles, options);
  const PanelLayout layout = layout_of_derivatives(problem, executor->panel_tiles());
  RunOutcome outcome = run_tasks(plan, *executor, {1, derivative_sums(layout)}, {});
  Problem of_energies = problem;
  of_energies.derivatives = Derivatives::none;
  expect_same_energies(numbers_of(outcome.energies),
                       batch_numbers(*make_cpu_executor(of_energies, plan.tiles), plan, 1), 1);
  // GPUs round the derivatives by orbital energies, and add them up for that by omega2. These roundings are
  // independent.
  const double omega2_unit = std::sqrt(static_cast<double>(layout.tiles().orbitals()));
  EXPECT_NE(outcome.first_array, nullptr) << "the sums by operands stay on the GPU";
  AgainstTheReference(problem, plan, layout, std::move(outcome.sums), outcome.first_array).expect_equal(omega2_unit);
}

class ReferenceDerivativesOnGpuOf : public SkippedWithoutHopper<::testing::TestWithParam<NamedMolecule>> {};

TEST_P(ReferenceDerivativesOnGpuOf, EqualThoseOfTheReferenceEvaluation) {
  for (const SpinFormulation formulation : GetParam().formulations()) {
    for (const bool two_sided : {false, true}) {
      const Wanted wanted{formulation, two_sided, two_sided ? weighted_with_fock : ccsd_t_with_fock};
      for (const std::string& kernel : kernels_with_seeds())
        expect_derivatives_of_the_reference(GetParam().molecule, wanted, {3, 5}, with_kernel(kernel));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Every, ReferenceDerivativesOnGpuOf, ::testing::ValuesIn(molecules_of_every_kind()),
                         molecule_name);

class ReferenceDerivativesOnGpu : public SkippedWithoutHopper<::testing::Test> {};

// Tiles of one and of several hole groups, equal, ragged and smaller than a warp tile.
TEST_F(ReferenceDerivativesOnGpu, OfTwoSidesEqualThoseOfTheReferenceInTilesOfAnySize) {
  for (const TileSizes& sizes : {TileSizes{2, 2}, {1, 8}, {4, 4}, {5, 9}, {6, 10}, {8, 16}}) {
    expect_derivatives_of_the_reference(closed_shell(6, 10), {SpinFormulation::spin_adapted, true}, sizes, {});
    expect_derivatives_of_the_reference(open_shell(Reference::uhf, {5, 4, 6, 7}), {SpinFormulation::spin_orbital, true},
                                        sizes, {});
  }
}

TEST_F(ReferenceDerivativesOnGpu, OfTwoSidesByAmplitudesEqualThoseOfTheReference) {
  for (const auto& [molecule, formulation] :
       {std::pair{closed_shell(5, 8), SpinFormulation::spin_adapted},
        std::pair{open_shell(Reference::uhf, {4, 3, 5, 6}), SpinFormulation::spin_orbital}}) {
    for (const Method& method : {ccsd_t, ccsd_t_with_fock})
      expect_derivatives_of_the_reference(molecule, {formulation, true, method, Derivatives::amplitudes}, {3, 5}, {});
  }
}

}
}
