#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cxx/cpu/cpu_executor.hpp"
#include "cxx/cpu/reference_executor.hpp"
#include "cxx/triples/contraction_list.hpp"
#include "tests/gpu/gpu_test_support.hpp"
#include "tests/support/other_methods.hpp"
#include "tests/support/problem_with_quotients.hpp"

/// Compares every kernel that the device can run with the reference, and for larger molecules with the CPU, task by
/// task.
namespace trifuse {
namespace {

using namespace trifuse::testing;

void expect_energies_of_the_reference(const Problem& problem, const TileSpace& tiles,
                                      const std::vector<std::string>& kernels = usable_kernels()) {
  expect_agreement(problem, tiles, kernels, make_reference_executor);
}

void expect_energies_of_the_cpu(const Problem& problem, const TileSpace& tiles) {
  expect_agreement(problem, tiles, usable_kernels(),
                   [](const Problem& p, const TileSpace& t) { return make_cpu_executor(p, t); });
}

class CudaExecutorFor : public OnGpuForMolecule {};

// Executors need some time to start, so not every test uses every kernel.

TEST_P(CudaExecutorFor, AgreesWithTheReferenceInTilesOfAnySize) {
  for (const SpinFormulation formulation : GetParam().formulations()) {
    const OwnedProblem owned(GetParam().molecule, formulation);
    for (const auto& [holes, particles] : {TileSizes{1, 1}, {2, 2}, {3, 3}, {5, 5}, {1, 8}, {8, 1}, {3, 5}}) {
      SCOPED_TRACE(to_string(formulation) + ", tiles of " + std::to_string(holes) + " and " +
                   std::to_string(particles));
      const TileSpace tiles = owned.right->tiles().retiled(holes, particles);
      // With tiles of one orbital, a molecule with few orbitals of each irrep has no tasks.
      if (std::min(holes, particles) == 1 && make_plan(tiles, formulation).tasks.empty()) continue;
      expect_energies_of_the_reference(owned.problem, tiles, {usable_kernels().front()});
    }
  }
}

TEST_P(CudaExecutorFor, AgreesWithTheReferenceWithEveryKernel) {
  for (const SpinFormulation formulation : GetParam().formulations()) {
    const OwnedProblem owned(GetParam().molecule, formulation);
    for (const auto& [holes, particles] : {TileSizes{8, 8}, {5, 2}}) {
      SCOPED_TRACE(to_string(formulation) + ", tiles of " + std::to_string(holes) + " and " +
                   std::to_string(particles));
      expect_energies_of_the_reference(owned.problem, owned.right->tiles().retiled(holes, particles));
    }
  }
}

TEST_P(CudaExecutorFor, AgreesWithTheReferenceForTwoSidesAndSeveralOmega2) {
  for (const SpinFormulation formulation : GetParam().formulations()) {
    SCOPED_TRACE(to_string(formulation));
    OwnedProblem owned(GetParam().molecule, formulation, true);
    owned.problem.quotients = {0.0, 0.1, 0.2};
    expect_energies_of_the_reference(owned.problem, owned.right->tiles().retiled(2, 4));
  }
}

TEST_P(CudaExecutorFor, AgreesWithTheReferenceForSidesWithDifferentIntegrals) {
  for (const SpinFormulation formulation : GetParam().formulations()) {
    for (const bool two_amplitudes : {false, true}) {
      SCOPED_TRACE(to_string(formulation) + (two_amplitudes ? ", two amplitudes" : ""));
      OwnedProblem owned(GetParam().molecule, formulation, two_amplitudes);
      owned.change_left_integrals();
      expect_energies_of_the_reference(owned.problem, owned.right->tiles().retiled(2, 4));
    }
  }
}

TEST_P(CudaExecutorFor, AgreesWithTheReferenceForAllQuotients) {
  for (const SpinFormulation formulation : GetParam().formulations()) {
    for (const int sides : {1, 2, 3}) {
      SCOPED_TRACE(to_string(formulation) + ", sides " + std::to_string(sides));
      const ProblemWithQuotients owned(GetParam().molecule, formulation, sides);
      expect_energies_of_the_reference(owned.problem, owned.right->tiles().retiled(3, 5));
    }
  }
}

TEST_P(CudaExecutorFor, AgreesWithTheReferenceWithFockInSingles) {
  for (const SpinFormulation formulation : GetParam().formulations()) {
    for (const bool two_sided : {false, true}) {
      SCOPED_TRACE(to_string(formulation) + (two_sided ? ", two sides" : ""));
      OwnedProblem owned(GetParam().molecule, formulation, two_sided);
      owned.problem.method = ccsd_t_with_fock;
      expect_energies_of_the_reference(owned.problem, owned.right->tiles().retiled(3, 5),
                                       two_sided ? usable_kernels() : std::vector{usable_kernels().front()});
    }
  }
}

TEST_P(CudaExecutorFor, AgreesWithTheReferenceForOtherMethods) {
  for (const SpinFormulation formulation : GetParam().formulations()) {
    OwnedProblem owned(GetParam().molecule, formulation);
    for (const Method& method : other_methods) {
      SCOPED_TRACE(method.name() + std::string(", ") + to_string(formulation));
      owned.problem.method = method;
      expect_energies_of_the_reference(owned.problem, owned.right->tiles().retiled(3, 5), {usable_kernels().front()});
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Every, CudaExecutorFor, ::testing::ValuesIn(molecules_of_every_kind()), molecule_name);

class CudaExecutorOnGpu : public OnGpu {};

// With fewer orbitals than irreps, some products, singles and whole tasks vanish.
TEST_F(CudaExecutorOnGpu, AgreesWithTheReferenceIfProductsVanish) {
  bool vanished = false;
  for (const NamedMolecule& molecule :
       {NamedMolecule{"closed shell", closed_shell(3, 4, 8)}, {"UHF", open_shell(Reference::uhf, {3, 2, 4, 5}, 8)}}) {
    for (const SpinFormulation formulation : molecule.formulations()) {
      SCOPED_TRACE(molecule.name + ", " + to_string(formulation));
      const OwnedProblem owned(molecule.molecule, formulation);
      const TileSpace& tiles = owned.right->tiles();
      for (const Task& task : make_plan(tiles, formulation).tasks) {
        ContractionList contractions;
        list_contractions(tiles, formulation, task, contractions, EquivalentTargets::computed);
        vanished = vanished || contractions.products.size() < 9;
      }
      expect_energies_of_the_reference(owned.problem, tiles);
    }
  }
  EXPECT_TRUE(vanished);
}

TEST_F(CudaExecutorOnGpu, AgreesWithTheReferenceForASingleOrbitalOfAKind) {
  // Extents of 1 at every position, and only one particle or one hole of a spin.
  for (const OpenShell& n : {OpenShell{2, 1, 2, 1}, {1, 2, 5, 3}, {4, 3, 1, 2}, {3, 3, 9, 1}}) {
    const OwnedProblem owned(open_shell(Reference::uhf, n), SpinFormulation::spin_orbital);
    for (const std::int64_t size : {1, 9}) {
      expect_energies_of_the_reference(owned.problem, owned.right->tiles().retiled(size, size));
    }
  }
  const OwnedProblem owned(closed_shell(2, 2), SpinFormulation::spin_adapted);
  for (const std::int64_t size : {1, 2}) {
    expect_energies_of_the_reference(owned.problem, owned.right->tiles().retiled(size, size));
  }
}

TEST_F(CudaExecutorOnGpu, AgreesWithTheCpuForLargerClosedShells) {
  const OwnedProblem adapted(closed_shell(9, 37), SpinFormulation::spin_adapted);
  for (const auto& [holes, particles] : {TileSizes{9, 37}, {4, 16}, {7, 23}}) {
    SCOPED_TRACE(std::to_string(holes) + " and " + std::to_string(particles));
    expect_energies_of_the_cpu(adapted.problem, adapted.right->tiles().retiled(holes, particles));
  }
  expect_energies_of_the_cpu(adapted.problem, adapted.right->tiles().retiled_aligned(8, 32, tile_granule));
  const OwnedProblem orbital(closed_shell(6, 21, 2), SpinFormulation::spin_orbital);
  expect_energies_of_the_cpu(orbital.problem, orbital.right->tiles().retiled(6, 21));
  expect_energies_of_the_cpu(orbital.problem, orbital.right->tiles().retiled(3, 8));
}

TEST_F(CudaExecutorOnGpu, AgreesWithTheCpuForLargerOpenShellsAndTwoSides) {
  for (const int irreps : {1, 4}) {
    SCOPED_TRACE(std::to_string(irreps) + " irreps");
    OwnedProblem owned(open_shell(Reference::uhf, {8, 6, 22, 25}, irreps), SpinFormulation::spin_orbital, true);
    owned.problem.quotients = {0.0, 0.2};
    owned.problem.method = ccsd_t_with_fock;
    expect_energies_of_the_cpu(owned.problem, owned.right->tiles().retiled(8, 25));
    expect_energies_of_the_cpu(owned.problem, owned.right->tiles().retiled(3, 13));
  }
  const OwnedProblem adapted(closed_shell(7, 26), SpinFormulation::spin_adapted, true);
  expect_energies_of_the_cpu(adapted.problem, adapted.right->tiles().retiled(7, 26));
}

// Long contracted indices and few free ones: each panel has many k-tiles.
TEST_F(CudaExecutorOnGpu, AgreesWithTheCpuForLongSums) {
  const OwnedProblem owned(closed_shell(3, 150), SpinFormulation::spin_adapted);
  expect_energies_of_the_cpu(owned.problem, owned.right->tiles().retiled(3, 50));
}

TEST_F(CudaExecutorOnGpu, GivesTheSameEnergiesOnEveryDevice) {
  const auto devices = visible_devices();
  if (devices.size() < 2) GTEST_SKIP() << "This needs two GPUs.";
  const OwnedProblem owned(closed_shell(6, 17), SpinFormulation::spin_adapted);
  const Plan plan = make_plan(owned.right->tiles().retiled(3, 6), SpinFormulation::spin_adapted);
  std::vector<std::vector<double>> found;
  CudaOptions options;
  for (const DeviceInfo& device : devices) {
    options.devices = {device.number};
    found.push_back(batch_numbers(*make_cuda_executor(owned.problem, plan.tiles, options), plan, 1));
    EXPECT_LT(relative_difference(found.back(), found.front()), 1e-12) << device.name;
  }
}

}
}
