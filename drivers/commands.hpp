#pragma once

#include <CLI/CLI.hpp>

#include "cxx/base/communicator.hpp"

namespace trifuse::cli {

/// Exit codes of the program, as `trifuse --help` lists them.
enum ExitCode : int {
  success = 0,
  bad_input = 1,      ///< a file is absent, unreadable or unsound
  bad_usage = 2,      ///< an option or argument cannot be honoured
  bad_system = 3,     ///< no memory, no space, an unwritable file
  failed_check = 4,   ///< a self-test failed, or an internal error
  interrupted = 130,  ///< stopped by a signal
};

/// Each adds its subcommand; what it does runs when the command line has been read, and throws or sets `exit_code`.
/// `communicator`: the ranks that run together, or null.
void add_run(CLI::App& app, Communicator* communicator);
void add_info(CLI::App& app, int& exit_code);
void add_convert(CLI::App& app, int& exit_code);
void add_plan(CLI::App& app, int& exit_code);
void add_bench(CLI::App& app, int& exit_code);
void add_selftest(CLI::App& app, int& exit_code);

}  // namespace trifuse::cli
