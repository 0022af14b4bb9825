#include "cxx/job/same_files.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <vector>

#include "cxx/job/same_settings.hpp"

namespace trifuse {

bool same_files(Communicator& communicator, std::span<const std::string> paths) {
  std::string text;
  bool found = !paths.empty();
  for (const std::string& path : paths) {
    struct stat status {};
    found = found && ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
    text += fmt::format("{} {} {} {}\n", status.st_ino, status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
  }
  constexpr double not_found = -1.0;
  const double mine = found ? number_of_text(text) : not_found;
  for (const double each : allgather(communicator, std::span(&mine, 1))) {
    if (each != mine || each == not_found) return false;
  }
  return true;
}

}
