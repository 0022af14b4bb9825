#include "drivers/begin_devices.hpp"

#include <cstddef>
#include <numeric>
#include <optional>
#include <vector>

#include "cxx/base/error.hpp"
#include "cxx/cuda/runtime/cuda_executor.hpp"
#include "cxx/cuda/runtime/devices.hpp"
#include "cxx/parallel/ranks.hpp"
#include "cxx/triples/task.hpp"

namespace trifuse::cli {

namespace {

/// The GPUs that this process will probably use. `wanted`: those that the user named. In a job of several ranks, each
/// rank of a host takes one GPU, in the order of the ranks.
std::vector<int> likely_devices(std::vector<int> wanted, bool distributed) {
  if (wanted.empty()) {
    wanted.resize(static_cast<std::size_t>(visible_device_count()));
    std::iota(wanted.begin(), wanted.end(), 0);
  }
  if (!distributed) return wanted;
  const std::optional<int> place = rank_on_host_by_launcher();
  if (!place || *place < 0 || static_cast<std::size_t>(*place) >= wanted.size()) return {};
  return {wanted[static_cast<std::size_t>(*place)]};
}

void begin_cuda(const CalculationOptions& run, const TileSource& right, bool distributed) {
  CudaOptions options;
  options.devices = likely_devices(run.devices, distributed);
  options.precision = run.precision;
  options.kernel = run.kernel;
  options.waits_for_memory = !distributed;
  if (options.devices.empty()) return;
  test_cuda_devices(run.formulation.value_or(default_formulation(right.tiles())), options);
}

}  // namespace

std::future<CalculationOptions> begin_devices(const CalculationFlags& flags, const TileSource& right,
                                              const Communicator* communicator) {
  // If no thread can be started, the caller does this when it needs the options.
  return std::async(std::launch::async | std::launch::deferred,
                    [&flags, &right, distributed = communicator != nullptr] {
                      CalculationOptions options = flags.resolve(right);
                      try {
                        if (options.executor == ExecutorKind::cuda) begin_cuda(options, right, distributed);
                      } catch (const Error&) {
                        // The code that uses the GPUs reports the error.
                      }
                      return options;
                    });
}

}  // namespace trifuse::cli
