#pragma once

#include <optional>
#include <string>

namespace trifuse::cli {

/// What the environment says of an MPI or Slurm launcher that started several processes.
struct Launcher {
  int processes;
  const char* variable;  ///< which says so
};

/// None where this process is the only one.
std::optional<Launcher> find_launcher();

/// Throws UsageError: several copies would each do all of the work and write the same files. `why` goes on after "but"
/// and ends with what to do besides starting the program once.
[[noreturn]] void refuse(const Launcher& launcher, const std::string& why);

}  // namespace trifuse::cli
