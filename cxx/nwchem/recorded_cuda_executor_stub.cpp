#include "cxx/base/error.hpp"
#include "cxx/cuda/runtime/devices.hpp"
#include "cxx/nwchem/recorded_executor.hpp"

/// Replaces recorded_cuda_executor.cpp in a build without CUDA.
namespace trifuse {

std::unique_ptr<RecordedExecutor> make_recorded_cuda_executor(int, std::optional<std::int64_t>) {
  throw UsageError(why_no_devices());
}

}
