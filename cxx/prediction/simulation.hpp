#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "cxx/cuda/schedule/device_budget.hpp"
#include "cxx/parallel/dynamic_scheduler.hpp"
#include "cxx/prediction/inspector.hpp"
#include "cxx/prediction/machine.hpp"

namespace trifuse {

/// One rank of a job.
struct SimulatedRank {
  RankAssignment assignment;  ///< what the rank does, and its rate
  int gpus = 0;               ///< number of its GPUs; 0: it computes on CPU cores at the rate of `assignment`
};

/// The job that `simulate` simulates.
struct SimulationSettings {
  std::vector<SimulatedRank> ranks;
  int workers_per_gpu = gpu::max_workers;  ///< host threads that prepare launches of a GPU
  double panel_bytes = 0.0;                ///< memory for panels on each GPU, bytes
  double slab_bytes = 0.0;                 ///< memory for slabs of factors on each GPU, bytes
  int particle_group = 0;                  ///< size of the particle groups of grouped_order(), tiles
  double copy_rate = 0.0;                  ///< bytes per second of panels to each GPU
  double slab_rate = 0.0;                  ///< bytes per second of slabs, and of parts of made panels, to each GPU
  double panels_from_peers = 0.0;          ///< fraction of all panel bytes that comes from other GPUs of the node
  int exchanging_gpus = 0;                 ///< number of GPUs that exchange slabs with each other; 0: none
  std::int64_t owned_slab_limit = 0;       ///< most bytes of slabs that each of them owns, see gpu::owned_slab_limit()
  int lanes = 0;                           ///< number of GPUs whose spans are recorded
};

/// The execution of all tasks, from the first claim of a chunk to the last energy. Times are in seconds from the first
/// claim.
struct Simulation {
  double seconds = 0.0;          ///< time of the last energy
  double first_idle = 0.0;       ///< time at which the first GPU (without GPUs: the first rank) has finished
  int gpus = 0, core_ranks = 0;  ///< numbers of GPUs and of ranks that compute on cores
  double gpu_busy = 0.0;         ///< time in kernels and of making panels, summed over all GPUs
  double making_busy = 0.0;      ///< time of making panels from factors, summed over all GPUs
  double idle_at_end = 0.0;      ///< time from the end of a GPU's work to `seconds`, summed over all GPUs
  double copy_busy = 0.0;        ///< time of copies, summed over all GPUs
  double core_busy = 0.0;        ///< time of computing, summed over all ranks on cores
  double core_operations = 0.0;  ///< floating-point operations of all ranks on cores
  double made_operations = 0.0;  ///< floating-point operations that make panels from factors, on all GPUs and ranks
  double bytes_sent = 0.0, max_bytes_sent = 0.0;  ///< bytes sent to all GPUs; to the GPU that gets most
  double bytes_from_peers = 0.0;                  ///< part of `bytes_sent` that other GPUs of the node sent
  double bytes_needed = 0.0;                      ///< `bytes_sent` if each GPU got each panel once; 0: not counted
  double max_held = 0.0;                          ///< largest amount of panels on a GPU, bytes
  std::int64_t slabs_sent = 0;                    ///< number of slabs of factors that the host sent to all GPUs
  std::int64_t slabs_from_peers = 0;              ///< number of slabs that other GPUs of the node sent
  std::int64_t panels_dropped = 0;                ///< number of evictions on all GPUs
  std::int64_t chunks = 0, batches = 0, counter_calls = 0;  ///< numbers of chunks, launches, counter accesses
  double counter_waiting = 0.0;  ///< time of waiting for the counter, latency included, summed over all ranks

  /// A copy (`copy` true) or a launch of a GPU.
  struct Span {
    int gpu;
    double begin, end;
    bool copy;
  };
  std::vector<Span> spans;  ///< copies and launches of the GPUs in `lanes`
  std::vector<int> lanes;   ///< numbers of the recorded GPUs, evenly chosen

  /// Returns the fraction of the time in which the GPUs (without GPUs: the ranks) compute, 0 to 1.
  double efficiency() const;
  /// Returns the time from the first idle GPU to the end.
  double tail() const { return seconds - first_idle; }
};

/// Simulates a run. Ranks claim chunks of the plan as in a real run, and each worker of a GPU prepares, sends and
/// computes its batches. A GPU makes panels from factors before the kernel that reads them, and makes a panel again if
/// it was evicted. The chunks are those that `make_work_chunks` makes for the rates of the ranks. `inspection`: the
/// inspection of `plan`.
Simulation simulate(const Plan& plan, const Inspection& inspection, const MachineModel& machine,
                    const SimulationSettings& settings);

}
