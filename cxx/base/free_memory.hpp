#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace trifuse {

/// Reads the number that follows `word` in a file, or the first number of the file if `word` is empty. Returns nullopt
/// if there is no such number.
std::optional<double> number_in_file(const std::filesystem::path& path, const std::string& word);

/// Returns the bytes of host memory that this process may still allocate. This is the smaller of the free memory of the
/// host and the memory that the control groups of a batch job or a container still allow. Returns the largest double if
/// neither is known.
double free_memory();

/// Returns the smallest number of bytes that any control group of a process still allows; the largest double if no
/// group has a limit. File caches that the kernel can free at once (inactive files) count as free.
///
/// `membership`: file that lists the groups of the process, e.g. /proc/self/cgroup. `root`: folder where control groups
/// are mounted. Groups of version 2 lie in `root`, memory groups of version 1 in its folder `memory`.
double left_by_control_groups(const std::filesystem::path& membership, const std::filesystem::path& root);

}
