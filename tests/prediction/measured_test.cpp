// What the model says of runs that were measured on one and two H200s (drivers/docs/performance-gpu.md).

#include <gtest/gtest.h>

#include "cxx/cuda/schedule/kernel_parameters.hpp"
#include "cxx/prediction/prediction.hpp"
#include "cxx/rotation/semicanonical.hpp"
#include "tce_tiles/synthetic_source.hpp"

namespace trifuse::testing {
namespace {

/// What is promised of a prediction.
constexpr double promised = 0.10;

struct TimedRun {
  std::int64_t occupied, virtuals;
  int irreps;
  SpinFormulation formulation;
  int gpus;
  double memory;   ///< bytes; 0: what the GPU has
  double seconds;  ///< of all tasks
  double whole;    ///< operations per second with making operands and the self-test; 0: not measured
};
std::string describe(const TimedRun& run) {
  return std::to_string(run.occupied) + " and " + std::to_string(run.virtuals) + " orbitals in " +
         std::to_string(run.irreps) + " irreps, " + to_string(run.formulation) + ", " + std::to_string(run.gpus) +
         " GPUs";
}

Prediction predicted(const TileSpace& tiles, SpinFormulation formulation, const JobShape& job) {
  const Plan plan = make_plan(retile(tiles, default_tiling(tiles, formulation, true)), formulation);
  Problem problem;
  problem.formulation = formulation;
  return predict(plan, problem, Inspection(plan, problem), machine_model("h200"), job);
}

JobShape job_of(int gpus, int ranks, double memory = 0) {
  JobShape job;
  job.gpus = gpus;
  job.ranks = ranks;
  if (ranks > 1) job.operands = JobShape::Operands::shared;
  job.gpu_memory = memory;
  return job;
}

Prediction predicted(const TimedRun& run, int ranks = 1) {
  const auto molecule = make_synthetic_source(
      {Reference::rhf, run.occupied, run.occupied, run.virtuals, run.virtuals, run.irreps, 8, 8, 1});
  return predicted(molecule->tiles(), run.formulation, job_of(run.gpus, ranks, run.memory));
}

TEST(Measured, RunsTakeAboutWhatIsPredicted) {
  using enum SpinFormulation;
  for (const TimedRun& run : std::vector<TimedRun>{{40, 360, 1, spin_orbital, 1, 0, 121.9, 48.5e12},
                                                   {40, 360, 1, spin_adapted, 1, 0, 56.6, 43.4e12},
                                                   {40, 360, 1, spin_adapted, 2, 0, 28.5, 83.2e12},
                                                   {40, 240, 1, spin_orbital, 1, 0, 25.6, 47.6e12},
                                                   {40, 240, 1, spin_orbital, 1, 8e9, 26.7, 46.0e12},
                                                   {64, 256, 8, spin_orbital, 1, 0, 2.81, 30.1e12},
                                                   {64, 256, 8, spin_adapted, 1, 0, 1.66, 23.6e12},
                                                   {48, 320, 8, spin_orbital, 1, 0, 5.56, 15.0e12},
                                                   {48, 320, 8, spin_adapted, 1, 0, 3.25, 11.8e12},
                                                   {40, 240, 8, spin_orbital, 1, 0, 2.31, 7.1e12},
                                                   {40, 240, 8, spin_adapted, 1, 0, 1.52, 4.9e12}}) {
    const Prediction prediction = predicted(run);
    EXPECT_NEAR(prediction.tasks.seconds, run.seconds, promised * run.seconds) << describe(run);
    const double whole = prediction.seconds_startup + prediction.seconds_loading + prediction.tasks.seconds;
    EXPECT_NEAR(prediction.operations / whole, run.whole, promised * run.whole) << describe(run);
  }
}

/// Ranks with a GPU each on one host, and ranks on its cores beside them, from the opening of a dump in the memory of
/// the host to the energies.
TEST(Measured, RunsOfSeveralRanksTakeAboutWhatIsPredicted) {
  struct RanksRun {
    std::int64_t occupied, virtuals;
    int gpus, ranks;
    double tasks, in_all;  ///< seconds
  };
  for (const RanksRun& run : {RanksRun{40, 384, 1, 1, 69.51, 72.02}, RanksRun{40, 384, 2, 2, 34.79, 38.61},
                              RanksRun{40, 384, 2, 4, 34.47, 38.22}, RanksRun{40, 384, 4, 4, 18.26, 22.28},
                              RanksRun{40, 384, 4, 8, 18.04, 22.69}, RanksRun{80, 320, 1, 1, 305.02, 308.85},
                              RanksRun{80, 320, 2, 2, 155.00, 160.74}, RanksRun{80, 320, 2, 4, 153.96, 159.85},
                              RanksRun{80, 320, 4, 4, 78.18, 84.67}, RanksRun{80, 320, 4, 8, 76.80, 85.67}}) {
    SCOPED_TRACE(std::to_string(run.occupied) + " and " + std::to_string(run.virtuals) + " orbitals, " +
                 std::to_string(run.gpus) + " GPUs, " + std::to_string(run.ranks) + " ranks");
    const Prediction prediction =
        predicted({run.occupied, run.virtuals, 1, SpinFormulation::spin_adapted, run.gpus, 0, 0, 0}, run.ranks);
    EXPECT_NEAR(prediction.tasks.seconds, run.tasks, promised * run.tasks);
    EXPECT_NEAR(prediction.seconds(), run.in_all, promised * run.in_all);
  }
}

// On a host with 32 cores of 18 GF/s each, as measured there in tasks.
TEST(Measured, RotationsToSemicanonicalOrbitalsTakeAboutWhatIsPredicted) {
  const auto molecule = make_synthetic_source({Reference::rohf, 30, 28, 240, 242, 1, 8, 8, 1});
  const RotationCost cost = rotation_cost(*molecule);
  MachineModel machine = machine_model("h200");
  machine.cores_per_node = 32;
  machine.core_rate = 18e9;
  struct RotatedRun {
    int gpus, ranks;
    double in_all;  ///< seconds
  };
  for (const RotatedRun& run : {RotatedRun{1, 1, 29.66}, RotatedRun{2, 2, 21.00}, RotatedRun{2, 4, 20.62}}) {
    SCOPED_TRACE(std::to_string(run.gpus) + " GPUs, " + std::to_string(run.ranks) + " ranks");
    const Prediction without = predicted(molecule->tiles(), SpinFormulation::spin_orbital, job_of(run.gpus, run.ranks));
    const RotationPrediction rotation = predict_rotation(cost, without, machine);
    EXPECT_NEAR(without.seconds() + rotation.seconds, run.in_all, promised * run.in_all);
  }
}

// The rate that a run reports is that of the operations it executed, not of those of the plan.
TEST(Measured, RunsExecuteThePredictedOperations) {
  EXPECT_NEAR(predicted({40, 360, 1, SpinFormulation::spin_orbital, 1, 0, 0, 0}).operations, 51.0e12 * 121.9,
              0.005 * 6.2e15);
  EXPECT_NEAR(predicted({40, 360, 1, SpinFormulation::spin_adapted, 1, 0, 0, 0}).operations, 2.55e15, 0.005 * 2.55e15);
}

TEST(Measured, RunsSendThePredictedPanels) {
  const Prediction all = predicted({40, 360, 1, SpinFormulation::spin_orbital, 1, 0, 0, 0});
  EXPECT_NEAR(all.tasks.bytes_sent, 46 * 0x1p30, 0.5 * 0x1p30);
  EXPECT_EQ(all.tasks.panels_dropped, 0);
  const Prediction limited = predicted({40, 240, 1, SpinFormulation::spin_orbital, 1, 8e9, 0, 0});
  EXPECT_NEAR(limited.tasks.bytes_sent, 55 * 0x1p30, 0.03 * 55 * 0x1p30);
  EXPECT_NEAR(static_cast<double>(limited.tasks.panels_dropped), 2505, 0.03 * 2505);
}

/// A spin-orbital task by itself, as `trifuse bench --kernels` measures it.
double seconds_of_task(const std::array<std::int32_t, 6>& extent, int contracted) {
  gpu::TaskProgram program;
  program.data = gpu::single_task(extent);
  program.products.resize(9);
  for (auto& product : program.products) product.k_steps = (contracted + 7) / 8;
  program.operations_of_element = 2.0 * 9 * contracted;
  KernelWorkModel model(SpinFormulation::spin_orbital);
  return machine_model("h200").kernel_seconds(model.work(program), SpinFormulation::spin_orbital);
}

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

}  // namespace
}  // namespace trifuse::testing
