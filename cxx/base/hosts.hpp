#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cxx/base/communicator.hpp"

#pragma GCC visibility push(default)

namespace trifuse {

/// Ranks send each other at most this many characters of the name of a host.
inline constexpr std::size_t longest_host_name = 64;

/// Returns the name of the host on which this process runs; "unknown" if the system does not tell.
std::string host_of_this_process();

/// Returns the model name of the processor; "unknown" if the system does not tell it.
std::string processor_name();

/// Returns the largest resident memory of this process so far, bytes; 0 if it is not known. `shares`: true if ranks of
/// this host share memory; of it only the part of this process counts. Then the call takes a tenth of a second for each
/// 6 GB, and must come while the memory is still there.
std::int64_t peak_memory(bool shares);

/// Returns the host name of each rank, in the order of ranks. Collective.
std::vector<std::string> hosts_of_ranks(Communicator& communicator);

}

#pragma GCC visibility pop
