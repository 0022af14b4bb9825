#include "cxx/job/begin_devices.hpp"

#include <cstddef>
#include <numeric>
#include <optional>
#include <vector>

#include "cxx/base/error.hpp"
#include "cxx/cuda/runtime/devices.hpp"
#include "cxx/parallel/ranks.hpp"

namespace trifuse {

namespace {

/// The GPUs that this process will probably use. `wanted`: the GPUs that the user named. In a job of several ranks,
/// each rank of a host takes one GPU, in the order of the ranks.
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

}

BegunDevices begin_devices(const JobOptions& options, const TileSource& right, const Communicator* communicator,
                           bool with_gpu) {
  // If no thread can be started, the caller does this when it needs the result.
  constexpr auto soon = std::launch::async | std::launch::deferred;
  BegunDevices begun;
  begun.options = std::async(soon, [&options, &right, with_gpu] {
    CalculationOptions chosen = options.calculation;
    if (!options.choose_executor || !with_gpu) return chosen;
    chosen.executor = choose_executor(right.tiles(), chosen.formulation, chosen.precision);
    return chosen;
  });
  begun.start = std::async(soon, [chosen = begun.options, &right, distributed = communicator != nullptr, with_gpu] {
    try {
      CalculationOptions run = chosen.get();
      if (run.executor != ExecutorKind::cuda || !with_gpu) return;
      run.devices = likely_devices(run.devices, distributed);
      start_devices(right.tiles(), run, distributed);
    } catch (const Error&) {
      // The code that uses the options or the GPUs reports the error.
    }
  });
  return begun;
}

bool may_use_gpu(Communicator* ranks, std::optional<int> of_host) {
  return ranks == nullptr || !of_host || rank_on_host(*ranks) < *of_host;
}

}
