#include "cxx/job/begin_devices.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string>
#include <vector>

#include "cxx/base/error.hpp"
#include "cxx/base/hosts.hpp"
#include "cxx/calculation/devices.hpp"
#include "cxx/cuda/runtime/choose_devices.hpp"
#include "cxx/cuda/runtime/devices.hpp"

namespace trifuse {

namespace {

/// Returns the GPUs that this process will probably use: its share of `wanted`, or of all. It assumes that all ranks of
/// the host see the same GPUs.
std::vector<int> likely_devices(std::vector<int> wanted, const GpuRanks& of) {
  if (wanted.empty()) {
    wanted.resize(static_cast<std::size_t>(visible_device_count()));
    std::iota(wanted.begin(), wanted.end(), 0);
  }
  if (of.gpus) wanted.resize(std::min(wanted.size(), static_cast<std::size_t>(*of.gpus)));
  const auto ranks = static_cast<std::size_t>(of.ranks);
  const std::vector<std::string> hosts(ranks), lists(ranks, fmt::format("{}", fmt::join(wanted, " ")));
  std::vector<int> mine;
  for (const std::size_t n : assigned_devices(hosts, lists, static_cast<std::size_t>(of.place), false)) {
    mine.push_back(wanted[n]);
  }
  return mine;
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
    if (chosen.derivatives != Derivatives::none) {
      const std::vector<DeviceInfo> all = visible_devices();
      if (!std::all_of(all.begin(), all.end(), computes_derivatives)) return chosen;
    }
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
