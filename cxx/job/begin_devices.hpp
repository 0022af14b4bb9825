#pragma once

#include <future>
#include <optional>

#include "cxx/base/communicator.hpp"
#include "cxx/calculation/calculation.hpp"
#include "cxx/job/job.hpp"
#include "tce_tiles/tiles/tile_source.hpp"

namespace trifuse {

/// What begin_devices() has begun. The destructor waits for the end of both.
struct BegunDevices {
  std::shared_future<CalculationOptions> options;  ///< with the executor; throws what choose_executor() throws
  std::future<void> start;                         ///< of CUDA
};

/// This rank among the ranks of its host that use GPUs.
struct GpuRanks {
  bool with_gpu = true;      ///< false: it uses none
  int place = 0, ranks = 1;  ///< its number, and the number of these ranks
  std::optional<int> gpus;   ///< number of GPUs that they may use; nullopt: all
};

/// `ranks`: null for a single process. `of_host`: see JobOptions::gpus_of_host.
/// Collective.
GpuRanks gpu_ranks(Communicator* ranks, std::optional<int> of_host);

/// Chooses the executor of a job on another thread. If the job will use CUDA, another thread starts CUDA on the GPUs
/// that this process will probably use, and makes their self-tests, which takes half a second. Meanwhile the caller can
/// check and read the input. Errors of GPUs are ignored. They occur again, and are reported, when the run uses the
/// GPUs.
///
/// `options` and `right` must outlive the result. `communicator`: the ranks of the job; null for a single process.
/// `gpus`: as gpu_ranks() says.
BegunDevices begin_devices(const JobOptions& options, const TileSource& right, const Communicator* communicator,
                           const GpuRanks& gpus);

}
