#include "cxx/base/free_memory.hpp"

#include <algorithm>
#include <fstream>
#include <limits>
#include <sstream>

namespace trifuse {

std::optional<double> number_in_file(const std::filesystem::path& path, const std::string& word) {
  std::ifstream file(path);
  double value = 0.0;
  for (std::string found; !word.empty() && found != word;) {
    if (!(file >> found)) return std::nullopt;
  }
  if (!(file >> value)) return std::nullopt;
  return value;
}

namespace {

/// Names of the files with a group's limit and usage, and the name of the inactive file cache in memory.stat.
struct Names {
  const char *limit, *used, *given_up;
};
constexpr Names version_1 = {"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"};
constexpr Names version_2 = {"memory.max", "memory.current", "inactive_file"};

/// Returns the bytes that a group and all its parent groups still allow.
double left_by(const std::filesystem::path& root, const std::string& group, const Names& names) {
  double left = std::numeric_limits<double>::max();
  for (std::filesystem::path inner = std::filesystem::path(group).relative_path();; inner = inner.parent_path()) {
    const std::filesystem::path folder = root / inner;
    // Without a limit, the file of a group in version 2 contains a word, and in version 1 a number larger than any
    // memory.
    const auto limit = number_in_file(folder / names.limit, ""), used = number_in_file(folder / names.used, "");
    if (limit && used) {
      const double given_up = number_in_file(folder / "memory.stat", names.given_up).value_or(0.0);
      left = std::min(left, std::max(0.0, *limit - std::max(0.0, *used - given_up)));
    }
    if (inner.empty()) return left;
  }
}

}

double left_by_control_groups(const std::filesystem::path& membership, const std::filesystem::path& root) {
  double left = std::numeric_limits<double>::max();
  std::ifstream file(membership);
  for (std::string line; std::getline(file, line);) {
    // A line is number:controllers:group.
    std::istringstream parts(line);
    std::string number, controllers, group;
    if (!std::getline(parts, number, ':') || !std::getline(parts, controllers, ':') || !std::getline(parts, group))
      continue;
    if (controllers.empty()) left = std::min(left, left_by(root, group, version_2));
    if (("," + controllers + ",").find(",memory,") != std::string::npos) {
      left = std::min(left, left_by(root / "memory", group, version_1));
    }
  }
  return left;
}

double free_memory() {
  constexpr double kilobyte = 1024.0;
  const auto of_host = number_in_file("/proc/meminfo", "MemAvailable:");
  const double left = left_by_control_groups("/proc/self/cgroup", "/sys/fs/cgroup");
  return of_host ? std::min(kilobyte * *of_host, left) : left;
}

}
