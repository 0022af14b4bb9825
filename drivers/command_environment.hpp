#pragma once

#include <CLI/CLI.hpp>

namespace trifuse::cli {

/// Throws UsageError if a variable of the environment sets something that this command does not follow, e.g.
/// TRIFUSE_OMEGA2, or if a variable that it follows has an impossible value. `command`: the parsed command line.
void refuse_other_environment(const CLI::App& command);

}
