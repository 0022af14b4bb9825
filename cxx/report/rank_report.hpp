#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cxx/calculation/distributed_calculation.hpp"

/// Reports of the work of each rank of a job, and of each kind of worker.
namespace trifuse {

/// Returns a table with a row for each kind of worker: GPUs, cores, and ranks that only wait. It gives the share of the
/// operations, the share of idle time, and the busy time of the slowest rank relative to the mean.
std::string describe_workers(const std::vector<RankWork>& ranks);

/// Returns the same table as JSON.
nlohmann::ordered_json json_kinds(const std::vector<RankWork>& ranks);
/// Returns the role of each rank and its work, as JSON. `result`: the result of `job`.
nlohmann::ordered_json json_ranks(const DistributedCalculation& job, const CalculationResult& result);

}
