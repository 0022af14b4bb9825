#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cxx/prediction/prediction.hpp"
#include "tce_tiles/sources/synthetic_source.hpp"

/// Runs that were measured on H200 GPUs, and their predictions. drivers/docs/performance-gpu.md has all numbers.
namespace trifuse::testing {

/// The largest relative error that is promised of a prediction.
inline constexpr double promised = 0.10;

struct TimedRun {
  const char* section;  ///< of performance-gpu.md
  SyntheticMolecule molecule;
  SpinFormulation formulation;
  int gpus, ranks;
  double memory;   ///< limit of each GPU, bytes; 0: none
  double seconds;  ///< of all tasks; in mixed precision with the sample
  Precision precision = Precision::fp64;
};

inline SyntheticMolecule timed_molecule(std::int64_t occupied, std::int64_t virtuals, int irreps = 1,
                                        bool uneven = false) {
  return {Reference::rhf, occupied, occupied, virtuals, virtuals, irreps, 8, 8, 1, uneven};
}

/// The same molecule with integrals from factors.
inline SyntheticMolecule with_factors(SyntheticMolecule molecule, std::int64_t auxiliary) {
  molecule.auxiliary = auxiliary;
  return molecule;
}

inline std::string describe(const TimedRun& run) {
  return std::string(run.section) + ": " + std::to_string(run.molecule.occupied_alpha) + " and " +
         std::to_string(run.molecule.virtual_alpha) + " orbitals in " + std::to_string(run.molecule.irreps) +
         " irreps, " + to_string(run.formulation) + ", " + to_string(run.precision) + ", " + std::to_string(run.gpus) +
         " GPUs, " + std::to_string(run.ranks) + " ranks";
}

/// The tasks of a molecule, for predictions with different machines.
class PredictedTasks {
 public:
  PredictedTasks(const SyntheticMolecule& molecule, SpinFormulation formulation, Precision precision = Precision::fp64)
      : source_(make_synthetic_source(molecule)),
        plan_(make_plan(retile(source_->tiles(), default_tiling(source_->tiles(), formulation, true)), formulation)),
        problem_(problem_of(*source_, formulation)),
        inspection_(plan_, problem_, precision) {}
  explicit PredictedTasks(const TimedRun& run) : PredictedTasks(run.molecule, run.formulation, run.precision) {}

  const Inspection& inspection() const { return inspection_; }
  SpinFormulation formulation() const { return plan_.formulation; }
  Prediction predict(const JobShape& job, const MachineModel& machine = machine_model("h200")) const {
    return trifuse::predict(plan_, problem_, inspection_, machine, job);
  }
  Prediction predict(const TimedRun& run, const MachineModel& machine = machine_model("h200")) const {
    return predict(job_of(run.gpus, run.ranks, run.memory), machine);
  }

  /// Simulates a run on one GPU that executes the tasks in the order of the plan. `memory`: of the GPU, bytes.
  Simulation in_plan_order(double memory, const MachineModel& machine = machine_model("h200")) const {
    const GpuMemory gpu = gpu_memory(plan_, problem_, inspection_, machine, memory);
    SimulationSettings settings;
    settings.ranks = {{{}, 1}};
    settings.workers_per_gpu = gpu.workers;
    settings.panel_bytes = gpu.panels;
    settings.copy_rate = machine.link;
    return simulate(plan_, inspection_, machine, settings);
  }

  static JobShape job_of(int gpus, int ranks, double memory = 0.0) {
    JobShape job;
    job.gpus = gpus;
    job.ranks = ranks;
    if (ranks > 1) job.operands = JobShape::Operands::shared;
    job.gpu_memory = memory;
    return job;
  }

 private:
  static Problem problem_of(const TileSource& source, SpinFormulation formulation) {
    Problem problem;
    problem.formulation = formulation;
    problem.right = &source;
    return problem;
  }
  std::unique_ptr<TileSource> source_;
  Plan plan_;
  Problem problem_;
  Inspection inspection_;
};

/// The runs to which the kernel's numbers were fitted: five in spin-orbital form, four in spin-adapted form.
inline std::vector<TimedRun> fitted_runs() {
  using enum SpinFormulation;
  const char* const section = "whole runs";
  return {{section, timed_molecule(40, 360), spin_orbital, 1, 1, 0, 121.9},
          {section, timed_molecule(40, 240), spin_orbital, 1, 1, 0, 25.6},
          {section, timed_molecule(64, 256, 8), spin_orbital, 1, 1, 0, 2.81},
          {section, timed_molecule(48, 320, 8), spin_orbital, 1, 1, 0, 5.56},
          {section, timed_molecule(40, 240, 8), spin_orbital, 1, 1, 0, 2.31},
          {section, timed_molecule(40, 360), spin_adapted, 1, 1, 0, 56.6},
          {section, timed_molecule(64, 256, 8), spin_adapted, 1, 1, 0, 1.66},
          {section, timed_molecule(48, 320, 8), spin_adapted, 1, 1, 0, 3.25},
          {section, timed_molecule(40, 240, 8), spin_adapted, 1, 1, 0, 1.52}};
}

/// The runs in mixed precision to which the numbers of its kernel were fitted: two in each form.
inline std::vector<TimedRun> fitted_mixed_runs() {
  using enum SpinFormulation;
  const char* const section = "mixed precision";
  constexpr Precision mixed = Precision::mixed;
  return {{section, timed_molecule(40, 240), spin_orbital, 1, 1, 0, 9.12, mixed},
          {section, timed_molecule(30, 180), spin_orbital, 1, 1, 0, 1.91, mixed},
          {section, with_factors(timed_molecule(40, 360), 1200), spin_adapted, 1, 1, 0, 22.37, mixed},
          {section, timed_molecule(40, 200), spin_adapted, 1, 1, 0, 3.46, mixed}};
}

/// Runs whose seconds of tasks no number of the model was fitted to.
inline std::vector<TimedRun> unfitted_runs() {
  using enum SpinFormulation;
  const char *const whole = "whole runs", *const several = "several processes", *const limits = "registers";
  return {{whole, timed_molecule(40, 360), spin_adapted, 2, 1, 0, 28.5},
          {whole, timed_molecule(40, 240), spin_orbital, 1, 1, 8e9, 26.7},
          {whole, timed_molecule(48, 256, 8, true), spin_orbital, 1, 1, 0, 2.46},
          {whole, timed_molecule(48, 256, 8, true), spin_adapted, 1, 1, 0, 1.53},
          {limits, timed_molecule(40, 300), spin_adapted, 1, 1, 0, 27.67},
          {several, timed_molecule(40, 384), spin_adapted, 1, 1, 0, 69.51},
          {several, timed_molecule(40, 384), spin_adapted, 2, 2, 0, 34.79},
          {several, timed_molecule(40, 384), spin_adapted, 2, 4, 0, 34.47},
          {several, timed_molecule(40, 384), spin_adapted, 4, 4, 0, 18.26},
          {several, timed_molecule(40, 384), spin_adapted, 4, 8, 0, 18.04},
          {several, timed_molecule(80, 320), spin_adapted, 1, 1, 0, 305.02},
          {several, timed_molecule(80, 320), spin_adapted, 2, 2, 0, 155.00},
          {several, timed_molecule(80, 320), spin_adapted, 2, 4, 0, 153.96},
          {several, timed_molecule(80, 320), spin_adapted, 4, 1, 0, 79.00},
          {several, timed_molecule(80, 320), spin_adapted, 4, 4, 0, 78.18},
          {several, timed_molecule(80, 320), spin_adapted, 4, 8, 0, 76.80}};
}

}
