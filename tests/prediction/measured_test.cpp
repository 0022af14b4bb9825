// The predictions of runs that were measured on H200s. drivers/docs/performance-gpu.md has all measurements.

#include <gtest/gtest.h>

#include <cmath>
#include <span>

#include "cxx/cuda/schedule/kernel_parameters.hpp"
#include "cxx/rotation/semicanonical.hpp"
#include "tests/prediction/timed_runs.hpp"

namespace trifuse::testing {
namespace {

PredictedTasks tasks_of(std::int64_t occupied, std::int64_t virtuals, SpinFormulation formulation) {
  return {timed_molecule(occupied, virtuals), formulation};
}

TEST(Measured, TasksOfUnfittedRunsTakeAboutWhatIsPredicted) {
  ASSERT_GE(unfitted_runs().size(), 10u);
  for (const TimedRun& run : unfitted_runs()) {
    EXPECT_NEAR(PredictedTasks(run).predict(run).tasks.seconds, run.seconds, promised * run.seconds) << describe(run);
  }
}

// Section "whole runs": operations per second from the tiles to the energies. `startup` and `fill` were fitted to some
// of these rates and to no runs of several ranks.
TEST(Measured, RunsFromTilesTakeAboutWhatIsPredicted) {
  using enum SpinFormulation;
  struct RunFromTiles {
    SyntheticMolecule molecule;
    SpinFormulation formulation;
    int gpus;
    double memory;  ///< limit of each GPU, bytes; 0: none
    double rate;    ///< operations per second
  };
  for (const RunFromTiles& run : {RunFromTiles{timed_molecule(40, 360), spin_orbital, 1, 0, 48.5e12},
                                  RunFromTiles{timed_molecule(40, 360), spin_adapted, 1, 0, 43.4e12},
                                  RunFromTiles{timed_molecule(40, 360), spin_adapted, 2, 0, 83.2e12},
                                  RunFromTiles{timed_molecule(40, 240), spin_orbital, 1, 0, 47.6e12},
                                  RunFromTiles{timed_molecule(40, 240), spin_orbital, 1, 8e9, 46.0e12},
                                  RunFromTiles{timed_molecule(64, 256, 8), spin_orbital, 1, 0, 30.1e12},
                                  RunFromTiles{timed_molecule(64, 256, 8), spin_adapted, 1, 0, 23.6e12},
                                  RunFromTiles{timed_molecule(48, 320, 8), spin_orbital, 1, 0, 15.0e12},
                                  RunFromTiles{timed_molecule(48, 320, 8), spin_adapted, 1, 0, 11.8e12},
                                  RunFromTiles{timed_molecule(40, 240, 8), spin_orbital, 1, 0, 7.1e12},
                                  RunFromTiles{timed_molecule(40, 240, 8), spin_adapted, 1, 0, 4.9e12}}) {
    const PredictedTasks tasks(run.molecule, run.formulation);
    const Prediction prediction = tasks.predict(PredictedTasks::job_of(run.gpus, 1, run.memory));
    const double whole = prediction.seconds_startup + prediction.seconds_loading + prediction.tasks.seconds;
    EXPECT_NEAR(prediction.operations / whole, run.rate, promised * run.rate)
        << run.molecule.occupied_alpha << " and " << run.molecule.virtual_alpha << " orbitals in "
        << run.molecule.irreps << " irreps, " << to_string(run.formulation);
  }
}

// Section "several processes": seconds from the opening of a dump in the memory of the host to the energies.
TEST(Measured, RunsOfSeveralRanksTakeAboutWhatIsPredicted) {
  struct RanksRun {
    int gpus, ranks;
    double in_all;
  };
  const auto expect_near = [](const PredictedTasks& tasks, const RanksRun& run) {
    EXPECT_NEAR(tasks.predict(PredictedTasks::job_of(run.gpus, run.ranks)).seconds(), run.in_all, promised * run.in_all)
        << run.gpus << " GPUs, " << run.ranks << " ranks, " << run.in_all << " s";
  };
  const PredictedTasks small = tasks_of(40, 384, SpinFormulation::spin_adapted);
  for (const RanksRun& run : {RanksRun{1, 1, 72.02}, {2, 2, 38.61}, {2, 4, 38.22}, {4, 4, 22.28}, {4, 8, 22.69}}) {
    expect_near(small, run);
  }
  const PredictedTasks large = tasks_of(80, 320, SpinFormulation::spin_adapted);
  for (const RanksRun& run :
       {RanksRun{1, 1, 308.85}, {2, 2, 160.74}, {2, 4, 159.85}, {4, 1, 83.58}, {4, 4, 84.67}, {4, 8, 85.67}}) {
    expect_near(large, run);
  }
}

// Section "ROHF in semicanonical orbitals": an open shell on a host with 32 cores of 18 GF/s each. No number was fitted
// to these runs.
TEST(Measured, RotationsToSemicanonicalOrbitalsTakeAboutWhatIsPredicted) {
  const SyntheticMolecule molecule{Reference::rohf, 30, 28, 240, 242, 1, 8, 8, 1};
  const RotationCost cost = rotation_cost(*make_synthetic_source(molecule));
  MachineModel machine = machine_model("h200");
  machine.cores_per_node = 32;
  machine.core_rate = 18e9;
  const PredictedTasks tasks(molecule, SpinFormulation::spin_orbital);
  struct RotatedRun {
    int gpus, ranks;
    double tasks, in_all;  ///< seconds
  };
  for (const RotatedRun& run :
       {RotatedRun{1, 1, 22.85, 29.66}, RotatedRun{2, 2, 11.30, 21.00}, RotatedRun{2, 4, 11.19, 20.62}}) {
    SCOPED_TRACE(std::to_string(run.gpus) + " GPUs, " + std::to_string(run.ranks) + " ranks");
    const Prediction without = tasks.predict(PredictedTasks::job_of(run.gpus, run.ranks));
    EXPECT_NEAR(without.tasks.seconds, run.tasks, promised * run.tasks);
    const RotationPrediction rotation = predict_rotation(cost, without, machine);
    EXPECT_NEAR(without.seconds() + rotation.seconds, run.in_all, promised * run.in_all);
  }
}

// Seconds times the rate that a run reports are the operations that it executed. Sections "whole runs", "the
// spin-adapted form" and "several processes".
TEST(Measured, RunsExecuteThePredictedOperations) {
  using enum SpinFormulation;
  const auto operations = [](std::int64_t occupied, std::int64_t virtuals, SpinFormulation formulation) {
    return tasks_of(occupied, virtuals, formulation).predict(PredictedTasks::job_of(1, 1)).operations;
  };
  EXPECT_NEAR(operations(40, 360, spin_orbital), 51.0e12 * 121.9, 0.005 * 6.2e15);
  EXPECT_NEAR(operations(40, 360, spin_adapted), 2.55e15, 0.005 * 2.55e15);
  EXPECT_NEAR(operations(40, 384, spin_adapted), 3.27e15, 0.005 * 3.27e15);
  EXPECT_NEAR(operations(80, 320, spin_adapted), 1.44e16, 0.005 * 1.44e16);
}

// Section "whole runs".
TEST(Measured, RunsSendThePredictedPanels) {
  using enum SpinFormulation;
  const Simulation all = tasks_of(40, 360, spin_orbital).predict(PredictedTasks::job_of(1, 1)).tasks;
  EXPECT_NEAR(all.bytes_sent, 46 * 0x1p30, 0.5 * 0x1p30);
  EXPECT_EQ(all.panels_dropped, 0);
  // This run executed its tasks in the order of the plan.
  const PredictedTasks less_memory = tasks_of(40, 240, spin_orbital);
  const Simulation limited = less_memory.in_plan_order(8e9);
  EXPECT_NEAR(limited.bytes_sent, 55 * 0x1p30, 0.03 * 55 * 0x1p30);
  EXPECT_NEAR(static_cast<double>(limited.panels_dropped), 2505, 0.03 * 2505);
  EXPECT_LT(less_memory.predict(PredictedTasks::job_of(1, 1, 8e9)).tasks.bytes_sent, 0.55 * limited.bytes_sent);
}

/// A spin-orbital task by itself, as `trifuse bench --kernels` measures it.
double seconds_of_task(const std::array<std::int32_t, 6>& extent, int contracted,
                       Precision precision = Precision::fp64) {
  gpu::TaskProgram program;
  program.data = gpu::single_task(extent);
  program.products.resize(gpu::products_per_target);
  const std::span<const gpu::Shape> shapes = kernel_shapes(precision);
  const auto k_steps = gpu::ceil_div(contracted, shapes.front().format.k_step);
  for (auto& product : program.products) product.k_steps = static_cast<std::int32_t>(k_steps);
  program.operations_of_element = 2.0 * gpu::products_per_target * contracted;
  KernelWorkModel model(SpinFormulation::spin_orbital, {shapes.begin(), shapes.end()});
  return machine_model("h200").kernel_seconds(model.work(program), SpinFormulation::spin_orbital, precision);
}

// Section "single tasks". No number was fitted to them.
TEST(Measured, SingleTasksTakeAboutWhatIsPredicted) {
  struct Case {
    std::array<std::int32_t, 6> extent;
    int contracted;
    double milliseconds;
  };
  const auto cube = [](std::int32_t n) { return std::array<std::int32_t, 6>{n, n, n, n, n, n}; };
  for (const Case& each : std::vector<Case>{{cube(16), 320, 1.830},
                                            {cube(20), 300, 6.835},
                                            {cube(24), 312, 19.89},
                                            {cube(28), 280, 49.20},
                                            {cube(32), 320, 122.6},
                                            {cube(40), 280, 407.7},
                                            {cube(16), 32, 0.266},
                                            {{16, 16, 16, 64, 16, 16}, 32, 1.018},
                                            {cube(24), 48, 3.779},
                                            {{19, 20, 20, 15, 16, 16}, 40, 0.617},
                                            {cube(28), 56, 11.38}}) {
    EXPECT_NEAR(1e3 * seconds_of_task(each.extent, each.contracted), each.milliseconds, promised * each.milliseconds)
        << each.extent[0] << ", contracted " << each.contracted;
  }
}

// Page "mixed-precision.md": multiples of cuBLAS DGEMM, which had 54 to 55 TF/s. No number was fitted to them.
TEST(Measured, SingleTasksInMixedPrecisionTakeAboutWhatIsPredicted) {
  constexpr double dgemm = 54.5e12;
  struct Case {
    std::int32_t extent;
    int contracted;
    double least, most;  ///< multiples of DGEMM
  };
  for (const Case& each : {Case{16, 320, 2.89, 3.18}, Case{20, 300, 2.35, 2.56}, Case{24, 312, 2.87, 3.02},
                           Case{28, 280, 2.42, 2.53}, Case{32, 320, 2.93, 3.10}, Case{40, 280, 2.82, 2.98}}) {
    const std::int32_t n = each.extent;
    const double operations = 2.0 * gpu::products_per_target * each.contracted * std::pow(n, 6);
    const double measured = 0.5 * (each.least + each.most),
                 predicted =
                     operations / seconds_of_task({n, n, n, n, n, n}, each.contracted, Precision::mixed) / dgemm;
    EXPECT_NEAR(predicted, measured, promised * measured) << n;
  }
}

}
}
