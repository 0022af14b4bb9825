#pragma once

#include <future>

#include "cxx/base/communicator.hpp"
#include "cxx/calculation/calculation.hpp"
#include "drivers/source_options.hpp"
#include "tce_tiles/tile_source.hpp"

namespace trifuse::cli {

/// Resolves the options of a run on another thread. Meanwhile the caller can do other work. If the run will use CUDA,
/// the thread also starts CUDA on the GPUs that this process will probably use and makes their self-tests, which takes
/// half a second. The thread ignores errors of these GPUs. The errors occur again, and are reported, when the run uses
/// the GPUs.
///
/// `flags` and `right` must outlive the future. `communicator`: the ranks of the job; null for a single process. The
/// future throws what `CalculationFlags::resolve` throws.
std::future<CalculationOptions> begin_devices(const CalculationFlags& flags, const TileSource& right,
                                              const Communicator* communicator);

}  // namespace trifuse::cli
