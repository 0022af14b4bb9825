#pragma once

#include <string_view>

namespace trifuse::cli {

/// Sets the handler of SIGINT and SIGTERM. A second SIGINT ends the program at once. A second SIGTERM calls the handler
/// again, because batch systems repeat SIGTERM and finally send SIGKILL.
void on_stop_signals(void (*handler)(int));

/// Ends the process from a signal handler: removes unfinished outputs, writes `sentence` to standard error, and exits
/// with code 130.
[[noreturn]] void end_in_handler(std::string_view sentence);

}
