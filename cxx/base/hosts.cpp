#include "cxx/base/hosts.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <fstream>

namespace trifuse {

std::string host_of_this_process() {
  std::array<char, 256> host{};
  return gethostname(host.data(), host.size() - 1) == 0 ? host.data() : "unknown";
}

std::string processor_name() {
  static const std::string name = [] {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);) {
      const auto colon = line.find(": ");
      if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
    }
    return std::string("unknown");
  }();
  return name;
}

std::int64_t peak_memory() {
  rusage usage{};
  return getrusage(RUSAGE_SELF, &usage) == 0 ? static_cast<std::int64_t>(usage.ru_maxrss) * 1024 : 0;
}

std::vector<std::string> hosts_of_ranks(Communicator& communicator) {
  return allgather(communicator, host_of_this_process(), longest_host_name);
}

}  // namespace trifuse
