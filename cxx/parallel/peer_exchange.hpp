#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "cxx/base/communicator.hpp"
#include "cxx/operands/panel_executor.hpp"

namespace trifuse {

/// Returns owners[rank]: the rank whose executor owns the panels of that rank, as `rank` sees it. On the host of
/// `rank`, a rank that takes part owns its own panels. The panels of the other ranks of this host are assigned in turn
/// to the ranks that take part. Ranks of other hosts get -1. The list is empty if `rank` does not take part or if no
/// other rank of its host does.
///
/// `hosts`: hosts[rank], host names. `takes_part`: takes_part[rank], true if the rank has an executor that exchanges
/// panels. `rank`: number of a rank, 0 .. number of ranks - 1.
std::vector<int> panel_owners(std::span<const std::string> hosts, const std::vector<bool>& takes_part, int rank);

/// Lets the executors of each host export their panels to each other. Collective. Passes on exceptions of `attempt`.
///
/// `exchange`: the exchange of this rank's executor, or null if it has none. `attempt`: must call the function that
/// it gets. It is collective and may catch a failure of the executor. open_peer_exchange() calls the executor only in
/// functions that it passes to `attempt`.
void open_peer_exchange(Communicator& communicator, PanelExchange* exchange,
                        const std::function<void(const std::function<void()>&)>& attempt);

/// Closes the exchange and returns the bytes that this rank's executor has read from its peers. Executors may be
/// destroyed afterwards. Collective. `exchange`: see open_peer_exchange().
std::int64_t close_peer_exchange(Communicator& communicator, PanelExchange* exchange);

}
