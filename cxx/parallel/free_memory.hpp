#pragma once

#include <filesystem>

namespace trifuse {

/// Bytes that this process may still take on its host: what the host has free, and the control groups of a batch job or
/// a container leave; the largest number where nothing is known.
double free_memory();

/// The least that any of the control groups of a process leaves, in bytes; the largest number where none has a limit.
/// `membership`: /proc/self/cgroup. `root`: where groups are mounted, of version 2, or 1 with its folder `memory`.
/// Files that the system keeps in memory for a group count as free, as it gives them up.
double left_by_control_groups(const std::filesystem::path& membership, const std::filesystem::path& root);

}  // namespace trifuse
