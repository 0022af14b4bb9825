#include "cxx/base/hosts.hpp"

#include <unistd.h>

#include <array>

namespace trifuse {

std::string host_of_this_process() {
  std::array<char, 256> host{};
  return gethostname(host.data(), host.size() - 1) == 0 ? host.data() : "unknown";
}

std::vector<std::string> hosts_of_ranks(Communicator& communicator) {
  return allgather(communicator, host_of_this_process(), longest_host_name);
}

}  // namespace trifuse
