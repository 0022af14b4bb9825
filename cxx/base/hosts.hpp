#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cxx/base/communicator.hpp"

namespace trifuse {

/// Ranks tell each other at most this many characters of the name of a host.
inline constexpr std::size_t longest_host_name = 64;

/// The name of the host that this process runs on.
std::string host_of_this_process();

/// The name of each rank's host: collective.
std::vector<std::string> hosts_of_ranks(Communicator& communicator);

}  // namespace trifuse
