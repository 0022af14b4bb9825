#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cxx/calculation/calculation.hpp"
#include "cxx/cuda/runtime/devices.hpp"
#include "cxx/parallel/rank_assignment.hpp"

#pragma GCC visibility push(default)

/// Plans a calculation on all ranks of a communicator.
namespace trifuse {

class Communicator;

/// Options of a calculation of several ranks.
struct DistributedOptions {
  /// The options of the user, the same on all ranks. `plan_distributed` sets `executor` and `devices` on each rank: a
  /// rank with GPUs uses them, and a rank without one does not use `cuda`.
  CalculationOptions calculation;
  std::vector<DeviceInfo> devices;  ///< the GPUs of this rank
  std::optional<std::int64_t>
      gpu_memory;  ///< bytes that this rank may use on each; default: its share of the free memory
};

/// The options of this rank with its share of the GPUs of its host: of those that `options` names, or of all.
/// Collective. `options`: the same on all ranks. `with_gpu`: false if this rank takes none. `may_share`: true if
/// several ranks may take one GPU. `of_host`: number of GPUs of each host that may be taken, the first ones; nullopt:
/// all. Throws on all ranks if a rank cannot use one of them.
DistributedOptions options_with_devices(Communicator& communicator, const CalculationOptions& options,
                                        bool with_gpu = true, bool may_share = false, std::optional<int> of_host = {});

/// A calculation with the same plan on all ranks.
struct DistributedCalculation {
  Calculation calculation;
  std::vector<RankResources> ranks;         ///< [rank]
  std::vector<RankAssignment> assignments;  ///< [rank] what each rank does
};

/// Plans the calculation on every rank and assigns the work to the ranks. Collective. `right`, `left`: sources with the
/// same numbers on all ranks; `left` may be null. `options`: see DistributedOptions. Communicator and sources must
/// outlive the result. Throws on all ranks if it fails on one, with the errors of the constructor of Calculation.
/// Throws InputError if the ranks have different input, and UsageError if the memory of the hosts is too small.
DistributedCalculation plan_distributed(Communicator& communicator, const TileSource& right, const TileSource* left,
                                        const DistributedOptions& options);

/// Describes what one rank computes on: "GPU 0 (NVIDIA H200), 16 cores", "4 cores", "idle", ...
std::string describe_rank(const DistributedCalculation& distributed_calculation, std::size_t rank);

/// A table of what the ranks compute on: a heading, then one line for successive ranks that are alike.
std::vector<std::string> rank_table(const DistributedCalculation& distributed_calculation);

/// Assigns GPUs to ranks, such that each GPU of a host belongs to one rank. Collective. `usable`: the GPUs that this
/// rank may use, in the order of preference. Returns the GPUs of this rank, see assigned_devices().
std::vector<DeviceInfo> assign_devices(Communicator& communicator, const std::vector<DeviceInfo>& usable, bool share);

}

#pragma GCC visibility pop
