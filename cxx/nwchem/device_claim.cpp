#include "cxx/nwchem/device_claim.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <set>

namespace trifuse {

bool claim_device(const std::string& identity) {
  static std::set<std::string> mine;
  if (mine.contains(identity)) return true;
  const int socket_of_name = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket_of_name < 0) return true;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  // The path begins with a zero byte, so the name is abstract and not in the file system.
  const std::string name = "trifuse-nwchem-" + identity;
  const std::size_t length = std::min(name.size(), sizeof address.sun_path - 1);
  std::copy_n(name.begin(), length, address.sun_path + 1);
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
  if (bind(socket_of_name, reinterpret_cast<const sockaddr*>(&address), size) == 0) {
    mine.insert(identity);
    return true;
  }
  const bool taken = errno == EADDRINUSE;
  close(socket_of_name);
  return !taken;
}

}
