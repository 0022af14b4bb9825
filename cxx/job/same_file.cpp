#include "cxx/job/same_file.hpp"

#include <sys/stat.h>

#include <array>
#include <cstdint>
#include <vector>

namespace trifuse {
namespace {

/// Splits a 64-bit number into two halves, because a double cannot hold 64 bits exactly.
constexpr std::uint64_t half = std::uint64_t{1} << 32;

}  // namespace

bool same_file(Communicator& communicator, const std::string& path) {
  struct stat status {};
  const bool found = ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
  const auto number = static_cast<std::uint64_t>(status.st_ino);
  const std::array<double, 6> mine = {found ? 1.0 : 0.0,
                                      static_cast<double>(number / half),
                                      static_cast<double>(number % half),
                                      static_cast<double>(status.st_size),
                                      static_cast<double>(status.st_mtim.tv_sec),
                                      static_cast<double>(status.st_mtim.tv_nsec)};
  const std::vector<double> all = allgather(communicator, mine);
  for (std::size_t n = 0; n < all.size(); ++n) {
    if (all[n] != all[n % mine.size()] || all[n - n % mine.size()] == 0.0) return false;
  }
  return true;
}

}  // namespace trifuse
