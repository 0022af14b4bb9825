#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "cxx/cpu/cpu_executor.hpp"
#include "cxx/cpu/reference_executor.hpp"
#include "tests/gpu/gpu_test_support.hpp"
#include "tests/support/factored_source.hpp"

/// Problems with factors on a GPU, compared with the same integrals as stored numbers.
namespace trifuse {
namespace {

using namespace trifuse::testing;

class FactorsOnGpu : public OnGpu {};

TEST_F(FactorsOnGpu, GiveTheEnergiesOfTheIntegrals) {
  for_each_factored_problem([](const FactoredProblem& problem, const TileSpace& tiles) {
    const Plan plan = make_plan(tiles, problem.of_factors.formulation);
    const auto expected = batch_numbers(*make_reference_executor(problem.of_integrals, tiles), plan, 1);
    const auto executor = make_cuda_executor(problem.of_factors, tiles, {});
    expect_same_energies(batch_numbers(*executor, plan, 1), expected, 1);
    const DeviceReport report = *executor->device_report();
    EXPECT_GT(report.panels_made, 0);
    EXPECT_GT(report.slabs_sent, 0);
    EXPECT_GT(report.bytes_made, 0);
    EXPECT_LE(report.panels_made + report.panels_sent, report.panels_wanted);
    EXPECT_EQ(report.panels_evicted, 0);
  });
}

TEST_F(FactorsOnGpu, GiveTheEnergiesInMixedPrecision) {
  for_each_factored_problem([](const FactoredProblem& problem, const TileSpace& tiles) {
    const auto reference = [&](const Problem&, const TileSpace& t) {
      return make_reference_executor(problem.of_integrals, t);
    };
    expect_agreement(problem.of_factors, tiles, usable_kernels(Precision::mixed), reference, Precision::mixed);
  });
}

TEST_F(FactorsOnGpu, AreNotUsedForStoredIntegrals) {
  const FactoredProblem problem(closed_shell(4, 6), SpinFormulation::spin_adapted);
  const Plan plan = make_plan(problem.with_integrals.tiles(), SpinFormulation::spin_adapted);
  const auto executor = make_cuda_executor(problem.of_integrals, plan.tiles, {});
  static_cast<void>(batch_numbers(*executor, plan, 1));
  EXPECT_EQ(executor->device_report()->panels_made, 0);
  EXPECT_EQ(executor->device_report()->slabs_sent, 0);
}

// All workers compete for the memory. Panels that were evicted are made again, with the same bits.
TEST_F(FactorsOnGpu, MakePanelsAgainWithLittleMemory) {
  struct Case {
    SyntheticMolecule molecule;
    SpinFormulation formulation;
    bool two_sided;
  };
  for (const Case& each : {Case{closed_shell(8, 40), SpinFormulation::spin_adapted, false},
                           Case{open_shell(Reference::uhf, {7, 6, 24, 20}, 2), SpinFormulation::spin_orbital, true}}) {
    SCOPED_TRACE(to_string(each.formulation));
    const FactoredProblem problem(each.molecule, each.formulation, each.two_sided, 60);
    const Plan plan = make_plan(problem.with_factors.tiles().retiled(4, 4), each.formulation);
    const auto expected = batch_numbers(*make_cpu_executor(problem.of_integrals, plan.tiles), plan, 1);
    const auto roomy = make_cuda_executor(problem.of_factors, plan.tiles, {});
    const auto first = batch_numbers(*roomy, plan, 1);
    expect_same_energies(first, expected, 1);
    const std::int64_t least = least_budget(problem.of_factors, plan.tiles);
    for (const int more : {0, 2}) {
      SCOPED_TRACE(std::to_string(more) + " MiB more than needed");
      const auto executor = make_cuda_executor(problem.of_factors, plan.tiles, with_memory(least + more * mebibyte));
      for (const auto& found : numbers_of_all_workers(*executor, plan, 1)) {
        expect_same_energies(found, expected, 1);
        const bool same_tiles = executor->panel_tiles() == plan.tiles;
        EXPECT_TRUE(!same_tiles || found == first) << "other bits";
      }
      const DeviceReport report = *executor->device_report();
      EXPECT_TRUE(more > 0 || report.panels_evicted > 0);
      EXPECT_GE(report.panels_made, roomy->device_report()->panels_made);
      EXPECT_LE(report.panels_made + report.panels_sent, report.panels_wanted);
      EXPECT_LE(report.bytes_resident, report.memory_budget);
    }
  }
}

}
}
