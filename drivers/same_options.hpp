#pragma once

#include <CLI/CLI.hpp>

#include "cxx/base/communicator.hpp"

namespace trifuse::cli {

/// Throws UsageError on all ranks if the ranks have different options or different versions of the program, because a
/// launcher can start each rank with a command line of its own. The message names the option. run_job() compares the
/// options of the option table. Names of input files may differ too (their contents are compared later), but each
/// file must be given on all ranks or on none. Collective; it is the first collective call of the ranks.
void expect_same_options(Communicator& communicator, const CLI::App& command);

/// A rank that prints help calls this instead of `expect_same_options`. Throws UsageError on all ranks unless all ranks
/// print help. Collective.
void expect_all_ask_for_help(Communicator& communicator);

}
