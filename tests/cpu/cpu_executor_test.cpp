#include "cxx/cpu/cpu_executor.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cxx/base/error.hpp"
#include "cxx/cpu/reference_executor.hpp"
#include "cxx/operands/panel_store.hpp"
#include "cxx/plan/plan.hpp"
#include "tests/support/calculations.hpp"
#include "tests/support/molecules.hpp"
#include "tests/support/problems.hpp"
#include "tests/support/refusals.hpp"

/// Compares the CPU executor with the reference evaluation, task by task.
namespace trifuse {
namespace {

using namespace trifuse::testing;

constexpr double tolerance = 1e-12;

/// Differences are relative to the largest energy of all tasks, because the energies of tiny tasks have few correct
/// digits.
void expect_equal_tasks(const Problem& problem, const TileSpace& tiles, CpuTiles limits = {}) {
  const Plan plan = make_plan(tiles, problem.formulation);
  const auto executor = make_cpu_executor(problem, tiles, limits);
  const auto reference = make_reference_executor(problem, tiles);
  const auto found = task_numbers(*executor, plan, problem.quotients.size());
  const auto expected = task_numbers(*reference, plan, problem.quotients.size());
  EXPECT_FALSE(plan.tasks.empty());
  EXPECT_LT(relative_difference(found, expected), tolerance);
}

class CpuExecutorFor : public ::testing::TestWithParam<NamedMolecule> {};

TEST_P(CpuExecutorFor, AgreesWithTheReferenceInTilesOfAnySize) {
  for (const SpinFormulation formulation : GetParam().formulations()) {
    const OwnedProblem owned(GetParam().molecule, formulation);
    for (const std::int64_t size : {1, 2, 3, 5, 30}) {
      SCOPED_TRACE(to_string(formulation) + ", tiles of " + std::to_string(size));
      const TileSpace tiles = owned.right->tiles().retiled(size, size);
      // With tiles of one orbital, a molecule with few orbitals of each irrep has no triples.
      if (!make_plan(tiles, formulation).tasks.empty()) expect_equal_tasks(owned.problem, tiles);
    }
  }
}

TEST_P(CpuExecutorFor, AgreesWithTheReferenceWhenItCutsTilesFurther) {
  for (const SpinFormulation formulation : GetParam().formulations()) {
    const OwnedProblem owned(GetParam().molecule, formulation);
    const TileSpace tiles = owned.right->tiles().retiled(5, 6);
    for (const CpuTiles limits : {CpuTiles{1, 1}, CpuTiles{1, 3}, CpuTiles{2, 2}, CpuTiles{3, 4}}) {
      SCOPED_TRACE(to_string(formulation) + ", cut to " + std::to_string(limits.holes) + " and " +
                   std::to_string(limits.particles));
      expect_equal_tasks(owned.problem, tiles, limits);
    }
  }
}

TEST_P(CpuExecutorFor, AgreesWithTheReferenceForTwoSides) {
  for (const SpinFormulation formulation : GetParam().formulations()) {
    SCOPED_TRACE(to_string(formulation));
    OwnedProblem owned(GetParam().molecule, formulation, true);
    owned.problem.quotients = {0.0, 0.1};
    expect_equal_tasks(owned.problem, owned.right->tiles().retiled(2, 4));
  }
}

TEST_P(CpuExecutorFor, AgreesWithTheReferenceForSeveralOmega2) {
  for (const SpinFormulation formulation : GetParam().formulations()) {
    SCOPED_TRACE(to_string(formulation));
    OwnedProblem owned(GetParam().molecule, formulation);
    owned.problem.quotients = {0.0, 0.05, 0.1, 0.2, 3.0};
    expect_equal_tasks(owned.problem, owned.right->tiles().retiled(3, 3));
  }
}

class CpuExecutorForOpenShells : public CpuExecutorFor {};

TEST_P(CpuExecutorForOpenShells, AgreesWithTheReferenceWithFockInSingles) {
  for (const bool two_sided : {false, true}) {
    OwnedProblem owned(GetParam().molecule, SpinFormulation::spin_orbital, two_sided);
    owned.problem.method = ccsd_t_with_fock;
    expect_equal_tasks(owned.problem, owned.right->tiles().retiled(2, 5));
  }
}

INSTANTIATE_TEST_SUITE_P(Every, CpuExecutorFor, ::testing::ValuesIn(molecules_of_every_kind()), molecule_name);
INSTANTIATE_TEST_SUITE_P(Every, CpuExecutorForOpenShells, ::testing::ValuesIn(open_shells()), molecule_name);

TEST(CpuExecutor, ReadsSourcesInAnyTiles) {
  for (const std::int64_t source_tile : {1, 2, 7}) {
    SyntheticMolecule molecule = closed_shell(5, 7);
    molecule.hole_tile = source_tile;
    molecule.particle_tile = 8 - source_tile;
    for (const SpinFormulation formulation : {SpinFormulation::spin_orbital, SpinFormulation::spin_adapted}) {
      const OwnedProblem owned(molecule, formulation);
      expect_equal_tasks(owned.problem, owned.right->tiles().retiled(3, 4));
    }
  }
}

TEST(CpuExecutor, ReadsALeftSideInOtherTiles) {
  SyntheticMolecule molecule = closed_shell(5, 7, 2);
  OwnedProblem owned(molecule, SpinFormulation::spin_adapted);
  molecule.hole_tile = 1;
  molecule.particle_tile = 2;
  const auto left = make_synthetic_source(other_amplitudes(molecule));
  owned.problem.left = left.get();
  expect_equal_tasks(owned.problem, owned.right->tiles().retiled(3, 4));
}

TEST(CpuExecutor, HandlesTilesOfDifferentSizes) {
  // Seven orbitals in tiles of 4 and 3, eleven in tiles of 4, 4 and 3: no row fills a vector.
  const OwnedProblem adapted(closed_shell(5, 11), SpinFormulation::spin_adapted);
  expect_equal_tasks(adapted.problem, adapted.right->tiles().retiled(3, 4));
  const OwnedProblem open(open_shell(Reference::uhf, {5, 3, 4, 7}), SpinFormulation::spin_orbital);
  expect_equal_tasks(open.problem, open.right->tiles().retiled(4, 3));
}

TEST(CpuExecutor, HandlesRunsLongerThanTheWidestVector) {
  const OwnedProblem owned(closed_shell(2, 21), SpinFormulation::spin_adapted);
  expect_equal_tasks(owned.problem, owned.right->tiles().retiled(30, 30));
  expect_equal_tasks(owned.problem, owned.right->tiles().retiled(30, 30), {4, 64});
}

TEST(CpuExecutor, DoesTheOperationsThatWerePlanned) {
  for (const NamedMolecule& molecule : molecules_of_every_kind()) {
    for (const SpinFormulation formulation : molecule.formulations()) {
      const OwnedProblem owned(molecule.molecule, formulation);
      const Plan plan = make_plan(owned.right->tiles(), formulation);
      ASSERT_FALSE(plan.tasks.empty());
      const auto executor = make_cpu_executor(owned.problem, plan.tiles, {30, 30});
      const auto worker = executor->make_worker();
      std::vector<TaskEnergy> energies(1);
      for (const Task& task : plan.tasks) worker->execute({&task, 1}, energies);
      EXPECT_DOUBLE_EQ(worker->operations(), plan.total_operations) << molecule.name << ", " << to_string(formulation);
    }
  }
}

TEST(CpuExecutor, GivesTheSameBitsAfterAnyOtherTasks) {
  const OwnedProblem owned(closed_shell(5, 9, 2), SpinFormulation::spin_adapted);
  const Plan plan = make_plan(owned.right->tiles().retiled(2, 3), SpinFormulation::spin_adapted);
  const auto executor = make_cpu_executor(owned.problem, plan.tiles);
  const auto forward = executor->make_worker(), backward = executor->make_worker();
  ASSERT_FALSE(plan.tasks.empty());
  std::vector<std::vector<double>> found;
  std::vector<TaskEnergy> energies(1);
  for (const Task& task : plan.tasks) {
    forward->execute({&task, 1}, energies);
    found.push_back(numbers_of(energies));
  }
  for (std::size_t n = plan.tasks.size(); n-- > 0;) {
    backward->execute({&plan.tasks[n], 1}, energies);
    ASSERT_EQ(numbers_of(energies), found[n]);
  }
}

TEST(CpuExecutor, GivesTheSameBitsBesideAnyOtherTasks) {
  const OwnedProblem owned(closed_shell(5, 9, 2), SpinFormulation::spin_adapted);
  const Plan plan = make_plan(owned.right->tiles().retiled(2, 3), SpinFormulation::spin_adapted);
  Problem problem = owned.problem;
  problem.quotients = {0.0, 0.1, 0.2};
  for (const bool reference : {false, true}) {
    const auto executor =
        reference ? make_reference_executor(problem, plan.tiles) : make_cpu_executor(problem, plan.tiles);
    std::vector<TaskEnergy> together(3 * plan.tasks.size());
    executor->make_worker()->execute(plan.tasks, together);
    EXPECT_EQ(numbers_of(together), task_numbers(*executor, plan, 3));
  }
}

/// As for CPU workers beside GPUs: the panels have other tiles than the executor would choose.
TEST_P(CpuExecutorFor, AgreesWithTheReferenceWithPanelsOfOtherTiles) {
  for (const SpinFormulation formulation : GetParam().formulations()) {
    for (const bool two_sided : {false, true}) {
      OwnedProblem owned(GetParam().molecule, formulation, two_sided);
      if (formulation == SpinFormulation::spin_orbital && !two_sided) owned.problem.method = ccsd_t_with_fock;
      const Plan plan = make_plan(owned.right->tiles().retiled(5, 6), formulation);
      const auto reference = task_numbers(*make_reference_executor(owned.problem, plan.tiles), plan, 1);
      // The tiles of the plan, and tiles that the tiles of the executor do not refine.
      for (const TileSpace& panel_tiles : {plan.tiles, plan.tiles.refined(3, 4)}) {
        SCOPED_TRACE(to_string(formulation) + (two_sided ? ", two sides" : ""));
        const auto executor = prepare_cpu_executor(owned.problem, plan.tiles, {2, 3});
        executor->take_panels(std::make_shared<PanelStore>(owned.problem, panel_tiles));
        EXPECT_LT(relative_difference(task_numbers(*executor, plan, 1), reference), tolerance);
      }
    }
  }
}

TEST(CpuExecutor, GivesTheSameBitsForAnyNumberOfThreadsOfAWorker) {
  const OwnedProblem owned(closed_shell(5, 9, 2), SpinFormulation::spin_adapted);
  Problem problem = owned.problem;
  problem.quotients = {0.0, 0.1};
  const Plan plan = make_plan(owned.right->tiles(), SpinFormulation::spin_adapted);
  std::vector<double> alone;
  for (const int threads : {1, 2, 3, 50}) {
    const auto executor = prepare_cpu_executor(problem, plan.tiles, {1, 2}, threads);
    executor->take_panels(std::make_shared<PanelStore>(problem, plan.tiles));
    const std::vector<double> found = task_numbers(*executor, plan, problem.quotients.size());
    if (alone.empty()) alone = found;
    EXPECT_EQ(found, alone) << threads;
    EXPECT_EQ(executor->workers(), threads == 1 ? 0 : 1);
  }
}

TEST(CpuExecutor, GivesWorkersOfSeveralThreadsLargerBatches) {
  const OwnedProblem owned(closed_shell(5, 9), SpinFormulation::spin_adapted);
  const Plan plan = make_plan(owned.right->tiles().retiled(1, 2), SpinFormulation::spin_adapted);
  std::vector<bool> finished(plan.tasks.size(), false);
  finished.front() = true;
  std::size_t before = finished.size();
  for (const int threads : {1, 2, 4}) {
    const auto executor = prepare_cpu_executor(owned.problem, plan.tiles, {}, threads);
    std::vector<bool> given = finished;
    const auto batches = executor->batches(plan, finished);
    for (const auto& batch : batches) {
      EXPECT_FALSE(batch.empty());
      for (const std::size_t task : batch) {
        EXPECT_FALSE(given[task]);
        given[task] = true;
      }
    }
    EXPECT_EQ(given, std::vector<bool>(given.size(), true));
    EXPECT_LT(batches.size(), before);
    before = batches.size();
  }
}

/// A failure on one of the threads must become an exception and not end the process.
TEST(CpuExecutor, PassesOnAFailureOfOneOfItsThreads) {
  const OwnedProblem owned(closed_shell(5, 9), SpinFormulation::spin_adapted);
  const Plan plan = make_plan(owned.right->tiles(), SpinFormulation::spin_adapted);
  class Unreachable final : public SharedArray {
   public:
    explicit Unreachable(std::int64_t size) : own_(static_cast<std::size_t>(size)) {}
    std::span<double> local(std::size_t) override { return own_; }
    void get(std::size_t, std::int64_t, std::span<double>) override {
      throw SystemError("The other rank is out of reach.");
    }
    void sync() override {}

   private:
    std::vector<double> own_;
  };
  auto panels = std::make_shared<PanelStore>(owned.problem, plan.tiles, 0, std::vector<OperandShare>(2));
  panels->fill(owned.problem, std::make_unique<Unreachable>(panels->segments().front().doubles), 1 << 20);
  panels->fetch_others(1 << 30);
  const auto executor = prepare_cpu_executor(owned.problem, plan.tiles, {1, 2}, 3);
  executor->take_panels(panels);
  expect_failure<SystemError>([&] { task_numbers(*executor, plan, 1); }, "out of reach");
}

TEST(CpuExecutor, NeedsTheMemoryThatItAnnounces) {
  // Two sides have twice the amplitudes, but integrals are stored once.
  const OwnedProblem one(closed_shell(6, 12), SpinFormulation::spin_adapted),
      two(closed_shell(6, 12), SpinFormulation::spin_adapted, true);
  const TileSpace& tiles = one.right->tiles();
  const CpuMemory of_one = cpu_executor_memory(one.problem, tiles), of_two = cpu_executor_memory(two.problem, tiles);
  EXPECT_GT(of_two.operands, of_one.operands);
  EXPECT_LT(of_two.operands, 2 * of_one.operands);
  EXPECT_GT(of_two.per_worker, of_one.per_worker);
  EXPECT_LT(cpu_executor_memory(one.problem, tiles, {2, 4}).per_worker, of_one.per_worker);
}

}
}
