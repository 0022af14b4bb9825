#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cxx/prediction/simulation.hpp"

/// Predicts time and memory of a job before it is submitted.
namespace trifuse {

struct RotationCost;

/// Size of a job.
struct JobShape {
  int ranks = 1;  ///< number of processes; 0: one for each node
  /// GPUs of all nodes. Ranks with GPUs have equally many, or one more than others. If there are more ranks than GPUs,
  /// the others compute on CPU cores.
  int gpus = 1;
  int nodes = 0;            ///< 0: as many as the GPUs need; without GPUs one per rank
  double gpu_memory = 0.0;  ///< memory limit of each GPU, bytes; 0: its free memory
  double read_bytes = 0.0;  ///< size of the input files, bytes; 0: no files are read
  int lanes = 0;            ///< number of GPUs in the timeline
  /// `own`: every rank stores all operands. `shared`: all ranks together store them once. `automatic`: shared if there
  /// are several ranks.
  enum class Operands { automatic, own, shared } operands = Operands::automatic;
};

/// The layout of a GPU's memory, bytes.
struct GpuMemory {
  int workers = 0;      ///< number of host threads that prepare its launches
  double budget = 0.0;  ///< memory that the run may use, without the sums of derivatives
  /// Memory for the spilled targets, programs, sums and seeds of all workers, for the ring of arriving panels, and for
  /// rows of panels that are made.
  double scratch = 0.0;
  double slabs = 0.0;        ///< memory for slabs of factors
  double all_slabs = 0.0;    ///< size of all slabs of factors
  double panels = 0.0;       ///< memory of the panel cache
  double launch = 0.0;       ///< most memory that the panels of one launch may take
  double all_panels = 0.0;   ///< size of all panels of the plan
  double working_set = 0.0;  ///< size of the panels of the largest task
  double task_bound = 0.0;   ///< upper bound of `working_set`; if `launch` is less, a run cuts tiles further
  double sums = 0.0;         ///< memory for sums of derivatives
  double peak = 0.0;         ///< memory that the run uses
  double read_ahead = 0.0;   ///< `panels` minus `working_set`, at least 0
};
/// Returns the memory layout of each GPU. `allowed`: memory limit, bytes; 0: the free memory.
GpuMemory gpu_memory(const Plan& plan, const Problem& problem, const Inspection& inspection,
                     const MachineModel& machine, double allowed);

/// Predicted memory (bytes) and times (seconds) of a job.
struct Prediction {
  JobShape job;                  ///< with the numbers of nodes and ranks filled in
  bool shared_operands = false;  ///< true: ranks share the operands
  double operand_bytes = 0.0;    ///< operands on each rank that stores operands
  double node_bytes = 0.0;       ///< operands in the memory of all ranks of a node
  /// Factors of oo and ov in the memory of each rank, and of all ranks of a node, while operands are read.
  double factor_bytes = 0.0, node_factor_bytes = 0.0;
  double factor_check_bytes = 0.0;  ///< factors in the memory of each rank while the input is checked
  double fetched_bytes = 0.0;       ///< panels of other ranks that each rank keeps, at most
  double sum_bytes = 0.0;           ///< sums of derivatives in each rank without a GPU; 0: no such rank or sums
  /// Peak memory of each rank that stores operands, bytes: the operands, panels of other ranks, the factors or the
  /// panels that CPU cores make from them, the sums of derivatives, and the process itself.
  double peak_bytes = 0.0;
  GpuMemory gpu;
  double owned_bytes = 0.0;       ///< panels that each GPU owns for its peers of the same node; 0: none
  double owned_slab_bytes = 0.0;  ///< slabs of factors that each GPU owns for its peers, at most; 0: none
  int particle_group = 0;         ///< particle tiles of a group of grouped_order(); 0: order of the plan
  double seconds_checking = 0.0;  ///< check of the input
  /// Times of the start, of planning, of reading operands, and of summing the energies over ranks.
  double seconds_startup = 0.0, seconds_planning = 0.0, seconds_loading = 0.0, seconds_sum = 0.0;
  Precision precision = Precision::fp64;  ///< precision of the tasks
  Simulation tasks;                       ///< execution of the tasks, without the sample of mixed precision
  /// The sample of mixed precision, which is computed in double precision when all tasks are done.
  struct Sample {
    std::size_t tasks = 0;           ///< number of its tasks
    double operations = 0.0;         ///< floating-point operations of its kernels
    double seconds_preparing = 0.0;  ///< setting up the executor in double precision
    GpuMemory gpu;                   ///< memory layout in double precision
    Simulation run;                  ///< execution of its tasks
    double seconds() const { return seconds_preparing + run.seconds; }
  };
  std::optional<Sample> sample;        ///< nullopt in double precision
  double operations = 0.0;             ///< floating-point operations of the kernels, without padding
  std::vector<std::string> obstacles;  ///< one sentence for everything that a run cannot do

  /// Returns the time of the whole job.
  double seconds() const {
    return seconds_checking + seconds_startup + seconds_planning + seconds_loading + seconds_of_tasks() + seconds_sum;
  }
  /// Returns the time of the tasks, with the sample.
  double seconds_of_tasks() const { return tasks.seconds + (sample ? sample->seconds() : 0.0); }
};

/// Predicts a job in the precision of `inspection`, the inspection of `plan` and `problem`. Ranks on CPU cores compute
/// in double precision at the rate of the cores. Derivatives are predicted in double precision alone. No sample is
/// predicted for jobs without GPUs. Throws UsageError if some ranks compute on cores and no assignment of the work is
/// possible, see assign_work().
Prediction predict(const Plan& plan, const Problem& problem, const Inspection& inspection, const MachineModel& machine,
                   const JobShape& job);

/// Additional memory and time of a rotation to semicanonical orbitals.
struct RotationPrediction {
  double rotated_bytes = 0.0;  ///< bytes in each rank after the rotation
  double peak_bytes = 0.0;     ///< bytes in each rank during the rotation, before operands are read
  double seconds = 0.0;        ///< time of the rotation
};
/// Predicts the rotation of a job. `cost`: cost of the rotation of all sources. `prediction`: prediction of the same
/// job.
RotationPrediction predict_rotation(const RotationCost& cost, const Prediction& prediction,
                                    const MachineModel& machine);

/// What integrals cost that are dressed with amplitudes.
struct DressingPrediction {
  double bytes = 0.0;       ///< bytes in each rank: dressed integrals, and factors of which they are made
  double operations = 0.0;  ///< floating-point operations that make them, by all ranks together
};
/// Predicts the dressed integrals of methods with moments of CCSD. `moments`: number of sides with moments. `sides`:
/// number of sides with dressed integrals; those without moments take few operations. `auxiliary`: number of auxiliary
/// functions of the factors that are multiplied out before; 0: there are no factors.
DressingPrediction predict_dressing(const TileSpace& tiles, int moments, int sides, std::int64_t auxiliary = 0);

}
