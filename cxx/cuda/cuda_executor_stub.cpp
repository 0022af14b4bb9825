#include "cxx/base/error.hpp"
#include "cxx/cuda/cuda_executor.hpp"
#include "cxx/cuda/devices.hpp"

/// Takes the place of the CUDA executor in a build without CUDA.
namespace trifuse {

std::unique_ptr<CudaExecutor> make_cuda_executor(const Problem&, const TileSpace&, const CudaOptions&) {
  throw UsageError(why_no_devices());
}

}  // namespace trifuse
