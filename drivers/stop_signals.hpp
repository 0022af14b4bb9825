#pragma once

#include <string_view>

namespace trifuse::cli {

/// What SIGINT and SIGTERM do from now on. A second SIGINT ends the program where it is; batch systems repeat SIGTERM,
/// and send SIGKILL in the end.
void on_stop_signals(void (*handler)(int));

/// Ends the process from a signal handler: removes unfinished outputs, writes `sentence` to standard error, and exits
/// with the code of a program that was stopped.
[[noreturn]] void end_in_handler(std::string_view sentence);

}  // namespace trifuse::cli
