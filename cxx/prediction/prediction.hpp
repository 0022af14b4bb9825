#pragma once

#include <string>
#include <vector>

#include "cxx/prediction/simulation.hpp"

/// What a job will take, before it is submitted.
namespace trifuse {

struct RotationCost;

struct JobShape {
  int ranks = 1;            ///< processes
  int gpus = 1;             ///< in all; processes beyond one for each GPU compute on cores
  int nodes = 0;            ///< 0: as many as have so many GPUs, or one for each rank without GPUs
  double gpu_memory = 0.0;  ///< bytes that may be used of each GPU; 0: what is free
  double read_bytes = 0.0;  ///< of files that all ranks read; 0: tiles come from memory
  int lanes = 0;            ///< of the timeline
  /// Whether every rank has operands of its own, or all together have them once, as runs with Global Arrays do.
  enum class Operands { automatic, own, shared } operands = Operands::automatic;
};

/// How a GPU's memory is laid out, bytes.
struct GpuMemory {
  int workers = 0;  ///< host threads that feed it
  double budget = 0.0;
  double scratch = 0.0;      ///< targets put aside, programs and sums of all workers; ring of arriving panels
  double panels = 0.0;       ///< room for panels
  double all_panels = 0.0;   ///< what all panels of the plan would take
  double working_set = 0.0;  ///< panels of the largest task
  double read_ahead = 0.0;   ///< of the room for panels, besides the working set
};
GpuMemory gpu_memory(const Plan& plan, const Problem& problem, const Inspection& inspection,
                     const MachineModel& machine, double allowed);

struct Prediction {
  JobShape job;
  bool shared_operands = false;
  double operand_bytes = 0.0;  ///< of a rank
  double node_bytes = 0.0;     ///< of the ranks of a node
  GpuMemory gpu;
  double kept_bytes = 0.0;        ///< of panels, by each GPU for the others of its node
  double seconds_checking = 0.0;  ///< the input
  double seconds_startup = 0.0, seconds_planning = 0.0, seconds_loading = 0.0, seconds_sum = 0.0;
  Simulation tasks;
  double operations = 0.0;             ///< that will be executed
  std::vector<std::string> obstacles;  ///< what does not fit, a sentence each

  double seconds() const {
    return seconds_checking + seconds_startup + seconds_planning + seconds_loading + tasks.seconds + seconds_sum;
  }
};

/// Throws UsageError for a job that makes no sense.
Prediction predict(const Plan& plan, const Problem& problem, const Inspection& inspection, const MachineModel& machine,
                   const JobShape& job);

/// What the rotation to semicanonical orbitals takes besides.
struct RotationPrediction {
  double kept_bytes = 0.0;  ///< of each rank, from then on
  double peak_bytes = 0.0;  ///< of each rank before that, while there are no operands
  double seconds = 0.0;
};
RotationPrediction predict_rotation(const RotationCost& cost, const Prediction& prediction,
                                    const MachineModel& machine);

}  // namespace trifuse
