#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cxx/calculation/calculation.hpp"
#include "cxx/parallel/rank_assignment.hpp"

#pragma GCC visibility push(default)

/// Plans a calculation on all ranks of a communicator.
namespace trifuse {

class Communicator;

/// Options of a calculation of several ranks.
struct DistributedOptions {
  /// The options of the user, the same on all ranks. With the executor `cuda`, a rank takes its share of the GPUs of
  /// its host: of those that `devices` names, or of all. A rank without a GPU computes on cores.
  CalculationOptions calculation;
  /// Memory that this rank may use on each of its GPUs, bytes; default: `calculation.memory`, or its share of the free
  /// memory.
  std::optional<std::int64_t> gpu_memory;
  bool with_gpu = true;             ///< false: this rank takes no GPU
  bool may_share = false;           ///< true: several ranks may take one GPU
  std::optional<int> gpus_of_host;  ///< number of GPUs of each host that may be taken, the first ones; nullopt: all
};

/// A calculation with the same plan on all ranks.
struct DistributedCalculation {
  Calculation calculation;
  std::vector<RankResources> ranks;         ///< [rank]
  std::vector<RankAssignment> assignments;  ///< [rank] what each rank does
};

/// Plans the calculation on every rank and assigns GPUs and work to the ranks. Collective. `right`, `left`: sources
/// with the same numbers on all ranks; `left` may be null. `options`: see DistributedOptions. Communicator and sources
/// must outlive the result. Throws on all ranks if it fails on one, with the errors of the constructor of Calculation.
/// Throws InputError if the ranks have different input, and UsageError if the memory of the hosts is too small or if a
/// rank cannot use a GPU that the options name.
DistributedCalculation plan_distributed(Communicator& communicator, const TileSource& right, const TileSource* left,
                                        const DistributedOptions& options);

/// Describes what one rank computes on: "GPU 0 (NVIDIA H200), 16 cores", "4 cores", "idle", ...
std::string describe_rank(const DistributedCalculation& distributed_calculation, std::size_t rank);

/// Returns a table of what the ranks compute on: a heading, then one line for successive ranks that are alike.
std::vector<std::string> rank_table(const DistributedCalculation& distributed_calculation);

}

#pragma GCC visibility pop
