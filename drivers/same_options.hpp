#pragma once

#include <CLI/CLI.hpp>

#include "cxx/base/communicator.hpp"

namespace trifuse::cli {

/// Throws UsageError on all ranks, naming an option, where ranks were given different options that decide what they do
/// together: a launcher can start each rank with a command line of its own. What is a rank's own may differ: how many
/// threads and which devices it has. Names of input files may differ as well (what is in them is compared later), but
/// not whether they are given. Collective, and the first thing that ranks do together.
void expect_same_options(Communicator& communicator, const CLI::App& command);

/// The same for a rank that prints help: all ranks are asked to, or none.
void expect_all_ask_for_help(Communicator& communicator);

}  // namespace trifuse::cli
