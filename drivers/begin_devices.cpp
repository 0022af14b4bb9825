#include "drivers/begin_devices.hpp"

#include <cstddef>
#include <numeric>
#include <optional>
#include <vector>

#include "cxx/base/error.hpp"
#include "cxx/base/share_among_threads.hpp"
#include "cxx/cuda/runtime/devices.hpp"
#include "cxx/parallel/ranks.hpp"

namespace trifuse::cli {

namespace {

void begin_cuda(std::vector<int> devices, bool distributed) {
  if (devices.empty()) {
    devices.resize(static_cast<std::size_t>(visible_device_count()));
    std::iota(devices.begin(), devices.end(), 0);
  }
  // In a job of several ranks, each rank of a host takes one GPU, in the order of the ranks.
  const std::optional<int> place = rank_on_host_by_launcher();
  on_new_threads(devices.size(), [&](std::size_t n) {
    if (!distributed || (place && n == static_cast<std::size_t>(*place))) free_device_memory(devices[n]);
  });
}

}  // namespace

std::future<CalculationOptions> begin_devices(const CalculationFlags& flags, const TileSource& right,
                                              const Communicator* communicator) {
  // If no thread can be started, the caller does this when it needs the options.
  return std::async(std::launch::async | std::launch::deferred,
                    [&flags, &right, distributed = communicator != nullptr] {
                      CalculationOptions options = flags.resolve(right);
                      try {
                        if (options.executor == ExecutorKind::cuda) begin_cuda(options.devices, distributed);
                      } catch (const Error&) {
                        // The code that uses the GPUs reports the error.
                      }
                      return options;
                    });
}

}  // namespace trifuse::cli
