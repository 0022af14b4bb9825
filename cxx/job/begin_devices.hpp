#pragma once

#include <future>
#include <optional>

#include "cxx/base/communicator.hpp"
#include "cxx/calculation/calculation.hpp"
#include "cxx/job/job.hpp"
#include "tce_tiles/tiles/tile_source.hpp"

namespace trifuse {

/// The work that begin_devices() has begun. The destructor waits for its end.
struct BegunDevices {
  std::shared_future<CalculationOptions> options;  ///< options with the executor; throws as choose_executor()
  std::future<void> start;                         ///< the start of CUDA
};

/// The ranks of this host that use GPUs, and the place of this rank.
struct GpuRanks {
  bool with_gpu = true;      ///< false: it uses none
  int place = 0, ranks = 1;  ///< number of this rank on its host; number of its ranks that use GPUs
  std::optional<int> gpus;   ///< number of GPUs that they may use; nullopt: all
};

/// Finds the place of this rank. Collective. `ranks`: null for a single process. `of_host`: see
/// JobOptions::gpus_of_host.
GpuRanks gpu_ranks(Communicator* ranks, std::optional<int> of_host);

/// Chooses the executor of a job on another thread. If the job will use CUDA, another thread starts CUDA on the GPUs
/// that this process will probably use, and makes their self-tests, which takes half a second. Meanwhile the caller can
/// check and read the input. Errors of GPUs are ignored. They occur again, and are reported, when the run uses the
/// GPUs.
///
/// `options` and `right` must outlive the result. `communicator`: the ranks of the job; null for a single process.
/// `gpus`: result of gpu_ranks().
BegunDevices begin_devices(const JobOptions& options, const TileSource& right, const Communicator* communicator,
                           const GpuRanks& gpus);

}
