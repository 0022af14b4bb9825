#pragma once

#include <optional>
#include <string>

namespace trifuse::cli {

/// An MPI or Slurm launcher that has started several processes, as the environment describes it.
struct Launcher {
  int processes;         ///< number of processes
  const char* variable;  ///< environment variable that gives this number
};

/// Returns the launcher; nullopt if this process is the only one.
std::optional<Launcher> find_launcher();

/// Throws UsageError. Several processes that do not work together would each do all of the work and write the same
/// files. `why`: end of the sentence "... was started several times, but"; it may also say what to do.
[[noreturn]] void refuse(const Launcher& launcher, const std::string& why);

}
