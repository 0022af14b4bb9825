#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cxx/calculation/calculation.hpp"
#include "cxx/parallel/ranks.hpp"

/// How the ranks of a team begin a calculation together, whoever started them.
namespace trifuse {

struct TeamOptions {
  /// As for one process, and the same on all ranks, but `executor`, `devices` and `plan_for`: they are set here. An
  /// executor that is `cuda` says no more than `device` does.
  CalculationOptions calculation;
  std::optional<DeviceInfo> device;        ///< the GPU of this rank, if it has one
  std::optional<std::int64_t> gpu_memory;  ///< bytes that this rank may use there; default: its part of what is free
};

/// A calculation that all ranks have planned alike, and joined.
struct TeamCalculation {
  Calculation calculation;
  std::vector<RankResources> ranks;
  std::vector<TeamShare> shares;
};

/// Finds out what each rank has, plans, and shares out: collective. Where it fails on one rank it throws on all.
/// Sources and team must outlive the result.
TeamCalculation plan_in_team(Communicator& communicator, const TileSource& right, const TileSource* left,
                             const TeamOptions& options);

/// "GPU 0 (NVIDIA H200), 16 cores", "waits", ... of one rank.
std::string describe_rank(const TeamCalculation& team_calculation, std::size_t rank);

/// Who computes on what, a line for neighbours that do the same.
std::vector<std::string> rank_table(const TeamCalculation& team_calculation);

/// Deals out the GPUs that ranks may use (`usable`, in the order of preference) so that each of a host is had by one
/// rank: collective. Ranks for which none is left get none, or with `share` one that others have as well.
std::optional<DeviceInfo> deal_device(Communicator& communicator, const std::vector<DeviceInfo>& usable, bool share);

}  // namespace trifuse
