#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cxx/calculation/team_calculation.hpp"

/// What the ranks of a team did, each and by kind of worker.
namespace trifuse::cli {

/// A table: for GPUs, cores and ranks that wait their share of the operations, how much of the time they were idle, and
/// how much longer than on average the slowest of them was busy.
std::string describe_workers(const std::vector<RankWork>& ranks);

/// The same for programs.
nlohmann::ordered_json json_kinds(const std::vector<RankWork>& ranks);
/// What each rank was to do, and did.
nlohmann::ordered_json json_ranks(const TeamCalculation& job, const CalculationResult& result);

}  // namespace trifuse::cli
