#include "drivers/launcher.hpp"

#include <fmt/format.h>

#include <cstdlib>

#include "cxx/base/error.hpp"

namespace trifuse::cli {

std::optional<Launcher> find_launcher() {
  for (const char* variable : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"}) {
    const char* text = std::getenv(variable);
    const int processes = text != nullptr ? std::atoi(text) : 0;
    if (processes > 1) return Launcher{processes, variable};
  }
  return std::nullopt;
}

void refuse(const Launcher& launcher, const std::string& why) {
  throw UsageError(
      fmt::format("This program was started {} times by an MPI or Slurm launcher ({}), but {}; start it once and use "
                  "--threads.",
                  launcher.processes, launcher.variable, why));
}

}
