#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "cxx/base/communicator.hpp"
#include "cxx/operands/panel_executor.hpp"

namespace trifuse {

/// Returns for each rank the rank whose executor owns its panels [rank], as `rank` sees it. On the host of `rank`, a
/// rank that takes part owns its own panels. The ranks that take part own the panels of the other ranks of the host in
/// turn. Ranks of other hosts get -1. The list is empty if `rank` does not take part or is the only one of its host.
/// `hosts` [rank]: host names. `takes_part` [rank]: true if the rank has an executor that exchanges panels.
std::vector<int> panel_owners(std::span<const std::string> hosts, const std::vector<bool>& takes_part, int rank);

/// Collective. Lets the executors of each host export their panels to each other. `exchange`: that of this rank, or
/// null if it has none. Every call of the executor is made inside `attempt`, which is collective too and may swallow
/// the executor's failure.
void open_peer_exchange(Communicator& communicator, PanelExchange* exchange,
                        const std::function<void(const std::function<void()>&)>& attempt);

/// Collective. Closes the exchange; executors may be destroyed afterwards. Returns the bytes that this rank's executor
/// read from its peers. `exchange`: as in open_peer_exchange().
std::int64_t close_peer_exchange(Communicator& communicator, PanelExchange* exchange);

}  // namespace trifuse
