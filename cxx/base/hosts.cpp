#include "cxx/base/hosts.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>

#include "cxx/base/free_memory.hpp"

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

namespace {

/// Returns the resident bytes that belong to other processes; 0 if the system does not tell. 1/n of a page that n
/// processes share belongs to each of them.
std::int64_t resident_bytes_of_others() {
  constexpr double kilobyte = 1024.0;
  const auto resident = number_in_file("/proc/self/status", "VmRSS:"),
             proportional = number_in_file("/proc/self/smaps_rollup", "Pss:");
  return resident && proportional ? static_cast<std::int64_t>(kilobyte * std::max(0.0, *resident - *proportional)) : 0;
}

}

std::int64_t peak_memory(bool shares) {
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) != 0) return 0;
  const std::int64_t resident = static_cast<std::int64_t>(usage.ru_maxrss) * 1024;
  return std::max<std::int64_t>(0, resident - (shares ? resident_bytes_of_others() : 0));
}

std::vector<std::string> hosts_of_ranks(Communicator& communicator) {
  return allgather(communicator, host_of_this_process(), longest_host_name);
}

}
