#pragma once

#include <CLI/CLI.hpp>

#include "cxx/base/communicator.hpp"

namespace trifuse::cli {

/// Exit codes of the program, as `trifuse --help` lists them.
enum ExitCode : int {
  success = 0,
  bad_input = 1,      ///< a file is absent, unreadable or not valid
  bad_usage = 2,      ///< an option or argument is not possible
  bad_system = 3,     ///< memory or disk is full, or a file cannot be written
  failed_check = 4,   ///< a self-test failed, or an internal error
  interrupted = 130,  ///< stopped by a signal
};

/// Each function adds one subcommand to `app`. CLI11 runs the subcommand when it has parsed the command line. A
/// subcommand reports an error by an exception, or by a value in `exit_code`, which must outlive `app`. `communicator`:
/// the ranks of the job; null for a single process.
void add_run(CLI::App& app, Communicator* communicator);
void add_info(CLI::App& app, int& exit_code);
void add_convert(CLI::App& app, int& exit_code);
void add_plan(CLI::App& app, int& exit_code);
void add_bench(CLI::App& app, int& exit_code);
void add_selftest(CLI::App& app, int& exit_code);
/// Adds a command that `--help` does not list. It describes the commands that `app` has when it runs.
void add_describe(CLI::App& app);

}
