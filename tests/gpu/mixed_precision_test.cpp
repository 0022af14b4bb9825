#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "cxx/cpu/cpu_executor.hpp"
#include "cxx/cpu/reference_executor.hpp"
#include "cxx/operands/panel_store.hpp"
#include "tests/gpu/gpu_test_support.hpp"

/// Compares the kernels in mixed precision with the reference and with the CPU, task by task.
namespace trifuse {
namespace {

using namespace trifuse::testing;

std::vector<std::string> mixed_kernels() {
  return usable_kernels(Precision::mixed);
}

void expect_reference_energies_in_mixed_precision(const Problem& problem, const TileSpace& tiles) {
  expect_agreement(problem, tiles, mixed_kernels(), make_reference_executor, Precision::mixed);
}

void expect_cpu_energies_in_mixed_precision(const Problem& problem, const TileSpace& tiles) {
  expect_agreement(
      problem, tiles, mixed_kernels(), [](const Problem& p, const TileSpace& t) { return make_cpu_executor(p, t); },
      Precision::mixed);
}

class MixedPrecisionFor : public OnGpuForMolecule {};

TEST_P(MixedPrecisionFor, AgreesWithTheReferenceInTilesOfAnySize) {
  for (const SpinFormulation formulation : GetParam().formulations()) {
    const OwnedProblem owned(GetParam().molecule, formulation);
    for (const auto& [holes, particles] : {TileSizes{1, 1}, {3, 3}, {8, 8}, {1, 8}, {3, 5}}) {
      SCOPED_TRACE(to_string(formulation) + ", tiles of " + std::to_string(holes) + " and " +
                   std::to_string(particles));
      const TileSpace tiles = owned.right->tiles().retiled(holes, particles);
      // With tiles of one orbital, a molecule with few orbitals of each irrep has no tasks.
      if (std::min(holes, particles) == 1 && make_plan(tiles, formulation).tasks.empty()) continue;
      expect_reference_energies_in_mixed_precision(owned.problem, tiles);
    }
  }
}

TEST_P(MixedPrecisionFor, AgreesWithTheReferenceForTwoSidesAndSeveralOmega2) {
  for (const SpinFormulation formulation : GetParam().formulations()) {
    SCOPED_TRACE(to_string(formulation));
    OwnedProblem owned(GetParam().molecule, formulation, true);
    owned.problem.quotients = {0.0, 0.1, 0.2};
    owned.problem.method = ccsd_t_with_fock;
    expect_reference_energies_in_mixed_precision(owned.problem, owned.right->tiles().retiled(2, 4));
  }
}

INSTANTIATE_TEST_SUITE_P(Every, MixedPrecisionFor, ::testing::ValuesIn(molecules_of_every_kind()), molecule_name);

class MixedPrecision : public OnGpu {};

TEST_F(MixedPrecision, AgreesWithTheCpuForLargerMolecules) {
  const OwnedProblem adapted(closed_shell(9, 37), SpinFormulation::spin_adapted);
  for (const auto& [holes, particles] : {TileSizes{9, 37}, {4, 16}, {7, 23}}) {
    SCOPED_TRACE(std::to_string(holes) + " and " + std::to_string(particles));
    expect_cpu_energies_in_mixed_precision(adapted.problem, adapted.right->tiles().retiled(holes, particles));
  }
  expect_cpu_energies_in_mixed_precision(adapted.problem, adapted.right->tiles().retiled_aligned(8, 32, tile_granule));
  const OwnedProblem orbital(closed_shell(6, 21, 2), SpinFormulation::spin_orbital);
  expect_cpu_energies_in_mixed_precision(orbital.problem, orbital.right->tiles().retiled(6, 21));
  OwnedProblem open(open_shell(Reference::uhf, {8, 6, 22, 25}, 4), SpinFormulation::spin_orbital, true);
  open.problem.quotients = {0.0, 0.2};
  expect_cpu_energies_in_mixed_precision(open.problem, open.right->tiles().retiled(3, 13));
}

// Long contracted indices and few free ones: each panel has many scale groups.
TEST_F(MixedPrecision, AgreesWithTheCpuForLongSums) {
  const OwnedProblem owned(closed_shell(3, 150), SpinFormulation::spin_adapted);
  expect_cpu_energies_in_mixed_precision(owned.problem, owned.right->tiles().retiled(3, 50));
}

TEST_F(MixedPrecision, GivesTheSameBitsInEveryRunAndByEveryWorker) {
  for (const SpinFormulation formulation : {SpinFormulation::spin_orbital, SpinFormulation::spin_adapted}) {
    const OwnedProblem owned(closed_shell(6, 15, 2), formulation);
    const Plan plan = make_plan(owned.right->tiles().retiled(3, 5), formulation);
    for (const std::string& kernel : mixed_kernels()) {
      SCOPED_TRACE(to_string(formulation) + ", " + kernel);
      const auto executor = make_cuda_executor(owned.problem, plan.tiles, with_kernel(kernel, Precision::mixed));
      const auto first = batch_numbers(*executor, plan, 1);
      EXPECT_EQ(task_numbers(*executor, plan, 1), first) << "one by one";
      for (const auto& found : numbers_of_all_workers(*executor, plan, 1, 2)) EXPECT_EQ(found, first);
    }
  }
}

// The panels of a run in mixed precision also serve its sample in double precision, for which a task needs more memory.
TEST_F(MixedPrecision, GivesItsPanelsToTheSampleInLittleMemory) {
  const OwnedProblem owned(closed_shell(8, 40), SpinFormulation::spin_adapted);
  const Plan plan = make_plan(owned.right->tiles(), owned.problem.formulation);
  const auto expected = batch_numbers(*make_cpu_executor(owned.problem, plan.tiles), plan, 1);
  const std::int64_t least = least_budget(owned.problem, plan.tiles);
  for (const std::int64_t more : {0, 1, 4, 16, 64}) {
    SCOPED_TRACE(std::to_string(more) + " MiB more than the least memory");
    CudaOptions options = with_memory(least + more * mebibyte);
    const auto in_double = prepare_cuda_executor(owned.problem, plan.tiles, options);
    options.precision = Precision::mixed;
    const auto mixed = prepare_cuda_executor(owned.problem, plan.tiles, options);
    EXPECT_TRUE(mixed->panel_tiles() == in_double->panel_tiles());
    in_double->take_panels(std::make_shared<PanelStore>(owned.problem, mixed->panel_tiles()));
    expect_same_energies(batch_numbers(*in_double, plan, 1), expected, 1);
  }
  // Panels with smaller tiles than the executor's own.
  const auto in_double = prepare_cuda_executor(owned.problem, plan.tiles, {});
  in_double->take_panels(std::make_shared<PanelStore>(owned.problem, plan.tiles.refined(4, 8)));
  expect_same_energies(batch_numbers(*in_double, plan, 1), expected, 1);
}

// A kernel belongs to one precision.
TEST_F(MixedPrecision, RefusesKernelsInDoublePrecision) {
  const OwnedProblem owned(closed_shell(2, 2), SpinFormulation::spin_adapted);
  const CudaOptions options = with_kernel(usable_kernels().front(), Precision::mixed);
  EXPECT_THROW(make_cuda_executor(owned.problem, owned.right->tiles(), options), UsageError);
}

}
}
