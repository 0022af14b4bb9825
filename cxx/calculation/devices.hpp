#pragma once

#include "cxx/calculation/options.hpp"
#include "cxx/cuda/runtime/cuda_executor.hpp"
#include "cxx/triples/precision.hpp"
#include "tce_tiles/tiles/tile_space.hpp"

namespace trifuse {

/// Returns the options of a GPU executor that computes tasks of a calculation in `precision`. `options`: name the GPUs.
/// `of_rank`: true for one of several ranks.
CudaOptions cuda_options(const CalculationOptions& options, Precision precision, bool of_rank);

/// Starts CUDA on `options.devices` and makes the self-tests of a run with these options, all GPUs at the same time. A
/// program can do this, on another thread, while it checks its input; the run then need not do it. Throws DeviceError
/// or UsageError if a GPU cannot be used; the run will throw, too. `right`: tiles of the right amplitudes. `of_rank`:
/// true for one of several ranks.
void start_devices(const TileSpace& right, const CalculationOptions& options, bool of_rank);

}
