#include "cxx/job/begin_devices.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "cxx/base/error.hpp"
#include "cxx/base/hosts.hpp"
#include "cxx/cuda/runtime/devices.hpp"

namespace trifuse {

namespace {

/// The GPUs that this process will probably use: its share of `wanted`, or of all.
std::vector<int> likely_devices(std::vector<int> wanted, const GpuRanks& of) {
  if (wanted.empty()) {
    wanted.resize(static_cast<std::size_t>(visible_device_count()));
    std::iota(wanted.begin(), wanted.end(), 0);
  }
  const int place = of.place, ranks = of.ranks;
  const int count = std::min(static_cast<int>(wanted.size()), of.gpus.value_or(static_cast<int>(wanted.size())));
  if (ranks > count) return place < count ? std::vector{wanted[static_cast<std::size_t>(place)]} : std::vector<int>();
  return {wanted.begin() + place * count / ranks, wanted.begin() + (place + 1) * count / ranks};
}

}

BegunDevices begin_devices(const JobOptions& options, const TileSource& right, const Communicator* communicator,
                           const GpuRanks& gpus) {
  // If no thread can be started, the caller does this when it needs the result.
  constexpr auto soon = std::launch::async | std::launch::deferred;
  BegunDevices begun;
  begun.options = std::async(soon, [&options, &right, with_gpu = gpus.with_gpu] {
    CalculationOptions chosen = options.calculation;
    if (!chosen.choose_executor || !with_gpu) return chosen;
    chosen.executor = choose_executor(right.tiles(), chosen.formulation, chosen.precision);
    return chosen;
  });
  begun.start = std::async(soon, [chosen = begun.options, &right, distributed = communicator != nullptr, gpus] {
    try {
      CalculationOptions run = chosen.get();
      if (run.executor != ExecutorKind::cuda || !gpus.with_gpu) return;
      run.devices = likely_devices(run.devices, gpus);
      start_devices(right.tiles(), run, distributed);
    } catch (const Error&) {
      // The code that uses the options or the GPUs reports the error.
    }
  });
  return begun;
}

GpuRanks gpu_ranks(Communicator* ranks, std::optional<int> of_host) {
  if (ranks == nullptr) return {};
  const std::vector<std::string> hosts = hosts_of_ranks(*ranks);
  const auto mine = hosts.begin() + ranks->rank();
  GpuRanks found;
  found.gpus = of_host;
  found.place = static_cast<int>(std::count(hosts.begin(), mine, *mine));
  found.ranks = static_cast<int>(std::count(hosts.begin(), hosts.end(), *mine));
  if (of_host) found.ranks = std::min(found.ranks, *of_host);
  found.with_gpu = found.place < found.ranks;
  return found;
}

}
