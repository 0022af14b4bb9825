#pragma once

#include <future>

#include "cxx/base/communicator.hpp"
#include "cxx/calculation/calculation.hpp"
#include "drivers/source_options.hpp"
#include "tce_tiles/tiles/tile_source.hpp"

namespace trifuse::cli {

/// What begin_devices() has begun. The destructor waits for the end of both.
struct BegunDevices {
  std::shared_future<CalculationOptions> options;  ///< throws what `CalculationFlags::resolve` throws
  std::future<void> start;                         ///< of CUDA
};

/// Resolves the options of a run on another thread. If the run will use CUDA, another thread starts CUDA on the GPUs
/// that this process will probably use, and makes their self-tests, which takes half a second. Meanwhile the caller can
/// check and read the input. Errors of GPUs are ignored. They occur again, and are reported, when the run uses the
/// GPUs.
///
/// `flags` and `right` must outlive the result. `communicator`: the ranks of the job; null for a single process.
BegunDevices begin_devices(const CalculationFlags& flags, const TileSource& right, const Communicator* communicator);

}  // namespace trifuse::cli
