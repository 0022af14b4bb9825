#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cxx/base/communicator.hpp"

namespace trifuse {

/// Ranks send each other at most this many characters of the name of a host.
inline constexpr std::size_t longest_host_name = 64;

/// Name of the host on which this process runs; "unknown" if the system does not tell.
std::string host_of_this_process();

/// Host name of each rank, in the order of ranks. Collective.
std::vector<std::string> hosts_of_ranks(Communicator& communicator);

}  // namespace trifuse
