#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace trifuse::cli {

/// Returns the sentence about a command line that CLI11 refuses: what is wrong, and the nearest option or the help that
/// lists what is possible. `app`: the program, after it has parsed the command line.
std::string command_line_error(const CLI::App& app, const CLI::ParseError& error);

}
