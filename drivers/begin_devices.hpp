#pragma once

#include <future>

#include "cxx/base/communicator.hpp"
#include "cxx/calculation/calculation.hpp"
#include "drivers/source_options.hpp"
#include "tce_tiles/tile_source.hpp"

namespace trifuse::cli {

/// Resolves the flags of a run, and begins CUDA on the GPUs that this process is then likely to compute with, while the
/// process does something else: it takes half a second. What fails of a GPU fails again, and is told, where it is used.
/// `flags` and `right` outlive the result. `communicator`: that this process is one of, or null.
std::future<CalculationOptions> begin_devices(const CalculationFlags& flags, const TileSource& right,
                                              const Communicator* communicator);

}  // namespace trifuse::cli
