#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "cxx/base/communicator.hpp"
#include "cxx/operands/panel_executor.hpp"

namespace trifuse {

/// For each rank the one with whose executor the panels of its piece are at home, as the neighbours of `rank` see it:
/// those of its host that take part have their own, and in turn those of ranks that do not; -1 for ranks of other
/// hosts. Empty where a rank would have no other to exchange panels with, or does not take part.
std::vector<int> homes_of_ranks(std::span<const std::string> hosts, const std::vector<bool>& takes_part, int rank);

/// Lets the executors of each host keep panels for each other: collective. `exchange`: of this rank, or null. What an
/// executor does is done inside `attempt`, also collective, which may swallow its failure.
void meet_neighbours(Communicator& communicator, PanelExchange* exchange,
                     const std::function<void(const std::function<void()>&)>& attempt);

/// After which executors may go: collective. Returns what this one had from its neighbours, bytes.
std::int64_t leave_neighbours(Communicator& communicator, PanelExchange* exchange);

}  // namespace trifuse
