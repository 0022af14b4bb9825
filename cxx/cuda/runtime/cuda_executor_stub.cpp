#include "cxx/base/error.hpp"
#include "cxx/cuda/runtime/cuda_executor.hpp"
#include "cxx/cuda/runtime/devices.hpp"

/// Replaces cuda_executor.cpp in a build without CUDA.
namespace trifuse {

std::unique_ptr<PanelExecutor> prepare_cuda_executor(const Problem&, const TileSpace&, const CudaOptions&) {
  throw UsageError(why_no_devices());
}

std::unique_ptr<PanelExecutor> make_cuda_executor(const Problem& problem, const TileSpace& tiles,
                                                  const CudaOptions& options) {
  return prepare_cuda_executor(problem, tiles, options);
}

std::optional<TileSpace> likely_panel_tiles(const Problem&, const TileSpace&, const CudaOptions&) {
  return std::nullopt;
}

void test_cuda_devices(SpinFormulation, const CudaOptions&) {
  throw UsageError(why_no_devices());
}

}
