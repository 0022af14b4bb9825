// Predictions of runs in mixed precision, and the table of GPU models.

#include <gtest/gtest.h>

#include <algorithm>

#include "cxx/cuda/runtime/slow_double.hpp"
#include "cxx/cuda/schedule/gpu_models.hpp"
#include "cxx/plan/strata.hpp"
#include "tests/prediction/timed_runs.hpp"

namespace trifuse::testing {
namespace {

struct PlannedMolecule {
  Problem problem;
  Plan plan;

  explicit PlannedMolecule(SpinFormulation formulation, std::int64_t virtuals = 120) {
    problem.formulation = formulation;
    const auto molecule = make_synthetic_source(timed_molecule(24, virtuals));
    plan = make_plan(retile(molecule->tiles(), default_tiling(molecule->tiles(), formulation, true, 12)), formulation);
  }
  Prediction predict(Precision precision, const JobShape& job,
                     const MachineModel& machine = machine_model("h200")) const {
    return trifuse::predict(plan, problem, Inspection(plan, problem, precision), machine, job);
  }
};

TEST(MixedPrediction, IsFasterAndItsPanelsTakeHalfOfTheMemory) {
  for (const SpinFormulation formulation : {SpinFormulation::spin_orbital, SpinFormulation::spin_adapted}) {
    const PlannedMolecule molecule(formulation);
    const JobShape job = PredictedTasks::job_of(1, 1);
    const Prediction in_double = molecule.predict(Precision::fp64, job),
                     mixed = molecule.predict(Precision::mixed, job);
    EXPECT_EQ(in_double.precision, Precision::fp64);
    EXPECT_EQ(mixed.precision, Precision::mixed);
    EXPECT_FALSE(in_double.sample);
    EXPECT_LT(mixed.tasks.seconds, 0.7 * in_double.tasks.seconds);
    EXPECT_LT(mixed.gpu.all_panels, 0.7 * in_double.gpu.all_panels);
    EXPECT_GT(mixed.gpu.all_panels, 0.4 * in_double.gpu.all_panels);
    // The host sends numbers of 64 bits in both precisions.
    EXPECT_EQ(mixed.tasks.bytes_sent, in_double.tasks.bytes_sent);
    // CTA tiles without elements in ascending order are left out. CTA tiles of mixed precision have another shape.
    EXPECT_NEAR(mixed.operations, in_double.operations, 0.1 * in_double.operations);
  }
}

TEST(MixedPrediction, HasTheSampleThatARunTakesAtLeast) {
  const PlannedMolecule molecule(SpinFormulation::spin_adapted);
  std::size_t expected = 0;
  for (const Stratum& stratum : make_strata(molecule.plan)) {
    expected += std::min(stratum.tasks.size(), check_sample + first_sample(stratum));
  }
  const Prediction mixed = molecule.predict(Precision::mixed, PredictedTasks::job_of(2, 2));
  ASSERT_TRUE(mixed.sample);
  EXPECT_EQ(mixed.sample->tasks, expected);
  EXPECT_GT(mixed.sample->operations, 0.0);
  EXPECT_LT(mixed.sample->operations, 0.3 * mixed.operations);
  EXPECT_GT(mixed.sample->run.seconds, 0.0);
  EXPECT_EQ(mixed.seconds_of_tasks(), mixed.tasks.seconds + mixed.sample->seconds());
  EXPECT_GT(mixed.sample->run.bytes_sent, 0.0);
  // The memory layout in double precision has the panels of the largest task in doubles.
  EXPECT_GT(mixed.sample->gpu.task_bound, 1.5 * mixed.gpu.task_bound);
}

// Runs on an H200, see planning.md.
TEST(MixedPrediction, SendsTheBytesAndTakesTheSampleOfMeasuredRuns) {
  struct MixedRun {
    SyntheticMolecule molecule;
    SpinFormulation formulation;
    double bytes_sent;
    std::size_t sampled;  ///< number of tasks of the sample; 0: not noted
  };
  using enum SpinFormulation;
  for (const MixedRun& run : {MixedRun{timed_molecule(40, 360), spin_adapted, 22156492800.0, 42},
                              MixedRun{timed_molecule(40, 240), spin_orbital, 16649830400.0, 54},
                              MixedRun{timed_molecule(64, 256, 8), spin_adapted, 2071986176.0, 0},
                              MixedRun{timed_molecule(64, 256, 8), spin_orbital, 4659871744.0, 199}}) {
    const PredictedTasks tasks(run.molecule, run.formulation, Precision::mixed);
    const Prediction predicted = tasks.predict(PredictedTasks::job_of(1, 1));
    SCOPED_TRACE(std::to_string(run.molecule.virtual_alpha) + ", " + to_string(run.formulation));
    EXPECT_EQ(predicted.tasks.bytes_sent, run.bytes_sent);
    if (run.sampled > 0) {
      EXPECT_EQ(predicted.sample->tasks, run.sampled);
    }
  }
}

// Section "mixed precision". The times of targets were fitted to these runs.
TEST(MixedPrediction, TakesTheTimeOfMeasuredRuns) {
  for (const TimedRun& run : fitted_mixed_runs()) {
    EXPECT_NEAR(PredictedTasks(run).predict(run).seconds_of_tasks(), run.seconds, 0.02 * run.seconds) << describe(run);
  }
}

TEST(MixedPrediction, SaysIfTheSampleDoesNotFit) {
  const PlannedMolecule molecule(SpinFormulation::spin_adapted, 120);
  JobShape job = PredictedTasks::job_of(1, 1);
  const Prediction ample = molecule.predict(Precision::mixed, job);
  EXPECT_TRUE(ample.obstacles.empty());
  // A limit that is enough for a task in mixed precision and not in double precision.
  for (job.gpu_memory = ample.gpu.scratch / 8;; job.gpu_memory *= 1.05) {
    ASSERT_LT(job.gpu_memory, ample.gpu.budget);
    const Prediction narrow = molecule.predict(Precision::mixed, job);
    if (narrow.gpu.task_bound > narrow.gpu.launch) continue;
    ASSERT_EQ(narrow.obstacles.size(), 1u);
    EXPECT_NE(narrow.obstacles.front().find("of the sample in double precision"), std::string::npos);
    break;
  }
}

TEST(GpuModels, AreMarkedAsNotMeasuredExceptTheH200) {
  for (const gpu::GpuModel& model : gpu::gpu_models()) {
    const MachineModel machine = machine_model(model.name);
    EXPECT_EQ(machine.measured, std::string(model.name) == "h200") << model.name;
    for (const MachineNumber& number : machine_numbers()) EXPECT_GT(machine.*number.value, 0.0) << model.name;
    EXPECT_GT(machine.mixed_rate_spin_adapted, 1.5 * machine.rate_spin_adapted) << model.name;
  }
}

TEST(GpuModels, TellWhereDoublePrecisionIsSlow) {
  for (const gpu::GpuModel& model : gpu::gpu_models()) {
    const std::string name = model.name;
    const bool slow =
        name == "b200" || name == "gb10" || name == "l40s" || name == "a6000" || name == "rtx4090" || name == "rtx5090";
    EXPECT_EQ(machine_model(name).double_is_slow(), slow) << name;
    EXPECT_EQ(gpu::kernel_rates(model).double_is_slow(), slow) << name;
  }
}

TEST(GpuModels, AreFoundByTheNamesOfDevices) {
  const auto name_of = [](const char* device) {
    const gpu::GpuModel* const model = gpu::gpu_model_of(device);
    return std::string(model == nullptr ? "" : model->name);
  };
  EXPECT_EQ(name_of("NVIDIA H200"), "h200");
  EXPECT_EQ(name_of("NVIDIA H100 80GB HBM3"), "h100");
  EXPECT_EQ(name_of("NVIDIA H100 PCIe"), "h100-pcie");
  EXPECT_EQ(name_of("NVIDIA A100-SXM4-40GB"), "a100-40gb");
  EXPECT_EQ(name_of("NVIDIA A100-SXM4-80GB"), "a100");
  EXPECT_EQ(name_of("NVIDIA GeForce RTX 4090"), "rtx4090");
  EXPECT_EQ(name_of("NVIDIA RTX A6000"), "a6000");
  EXPECT_EQ(name_of("NVIDIA GB10"), "gb10");
  for (const char* other : {"NVIDIA GeForce RTX 4090 D", "NVIDIA GeForce RTX 5090 Laptop GPU", "Tesla T4", ""}) {
    EXPECT_EQ(name_of(other), "") << other;
  }
}

DeviceInfo device(const char* name, int major, int minor) {
  return {0, name, major, minor, std::int64_t{1} << 34, ""};
}

TEST(SlowDouble, AdvisesMixedPrecisionWhereItIsManyTimesAsFast) {
  const std::string ada = advise_mixed_precision({device("NVIDIA L40S", 8, 9)}, 1e15, 2e13);
  EXPECT_NE(ada.find("NVIDIA L40S has few units for double precision"), std::string::npos) << ada;
  EXPECT_NE(ada.find("seconds instead of"), std::string::npos) << ada;
  EXPECT_NE(ada.find("on 1 GPU (by data sheets, not measured)"), std::string::npos) << ada;
  // Two GPUs take half of the time: the numbers differ.
  EXPECT_NE(advise_mixed_precision({device("NVIDIA L40S", 8, 9), device("NVIDIA L40S", 8, 9)}, 1e15, 2e13), ada);
  const std::string unknown = advise_mixed_precision({device("NVIDIA GeForce RTX 3090", 8, 6)}, 1e15, 2e13);
  EXPECT_NE(unknown.find("many times as fast (not measured)"), std::string::npos) << unknown;
}

TEST(SlowDouble, SaysNothingElsewhere) {
  EXPECT_EQ(advise_mixed_precision({}, 1e15, 2e13), "");
  EXPECT_EQ(advise_mixed_precision({device("NVIDIA H200", 9, 0)}, 1e15, 2e13), "");
  EXPECT_EQ(advise_mixed_precision({device("NVIDIA A100-SXM4-80GB", 8, 0)}, 1e15, 2e13), "");
  EXPECT_EQ(advise_mixed_precision({device("Tesla V100", 7, 0)}, 1e15, 2e13), "");
  // A small job, of which the sample is nearly all.
  EXPECT_EQ(advise_mixed_precision({device("NVIDIA L40S", 8, 9)}, 1e12, 9e11), "");
  // A job in which one GPU is fast.
  EXPECT_EQ(advise_mixed_precision({device("NVIDIA L40S", 8, 9), device("NVIDIA H200", 9, 0)}, 1e15, 2e13), "");
}

}
}
