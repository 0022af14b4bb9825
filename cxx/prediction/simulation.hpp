#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "cxx/parallel/units.hpp"
#include "cxx/prediction/inspector.hpp"
#include "cxx/prediction/machine.hpp"

namespace trifuse {

/// A process of a job.
struct SimulatedRank {
  TeamShare share;
  int gpus = 0;  ///< 0: it computes on cores, at the rate of its share
};

struct SimulationSettings {
  std::vector<SimulatedRank> ranks;
  int workers_per_gpu = 8;
  double panel_bytes = 0.0;  ///< room for panels on each GPU
  double copy_rate = 0.0;    ///< bytes per second to each GPU, from where operands are
  int lanes = 0;             ///< how many GPUs' spans are kept
};

/// What happens from the first claim to the last energy.
struct Simulation {
  double seconds = 0.0;
  double first_idle = 0.0;  ///< when the first GPU (or, without any, rank) has nothing left to do
  int gpus = 0, core_ranks = 0;
  double gpu_busy = 0.0;     ///< seconds in kernels, of all GPUs
  double idle_at_end = 0.0;  ///< seconds that GPUs have nothing left to do, of all
  double copy_busy = 0.0;    ///< seconds of copies, of all GPUs
  double core_busy = 0.0;    ///< seconds of all ranks on cores
  double core_operations = 0.0;
  double bytes_sent = 0.0, most_bytes_sent = 0.0;  ///< to all GPUs, and to the one that gets most
  double bytes_needed = 0.0;                       ///< the same if no panel entered a GPU twice; 0: not counted
  double most_held = 0.0;                          ///< bytes of panels on a GPU
  std::int64_t panels_dropped = 0;
  std::int64_t units = 0, batches = 0, counter_calls = 0;
  double counter_waiting = 0.0;  ///< seconds that all ranks waited for the counter, latency included

  struct Span {
    int gpu;
    double begin, end;
    bool copy;
  };
  std::vector<Span> spans;  ///< of `lanes` GPUs, evenly chosen
  std::vector<int> lanes;   ///< their numbers

  /// Share of the time of all GPUs, or without them of all ranks, in which they compute.
  double efficiency() const;
  double tail() const { return seconds - first_idle; }
};

/// Lets all ranks claim units as in a run, and every worker of a GPU prepare, send and compute its batches. Units are
/// those that `make_units` makes for so many ranks.
Simulation simulate(const Plan& plan, const Inspection& inspection, const MachineModel& machine,
                    const SimulationSettings& settings);

}  // namespace trifuse
