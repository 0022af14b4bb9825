#include "drivers/stop_signals.hpp"

#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "cxx/base/output_file.hpp"
#include "drivers/commands.hpp"

namespace trifuse::cli {

void on_stop_signals(void (*handler)(int)) {
  for (const int signal : {SIGINT, SIGTERM}) {
    struct sigaction action {};
    action.sa_handler = handler;
    // With SA_RESTART, output that waits for its reader is not cut off.
    action.sa_flags = SA_RESTART | (signal == SIGINT ? static_cast<int>(SA_RESETHAND) : 0);
    sigaction(signal, &action, nullptr);
  }
}

// A handler may call neither stdio nor exit handlers.
void end_in_handler(std::string_view sentence) {
  remove_unfinished_outputs();
  static_cast<void>(!::write(STDERR_FILENO, sentence.data(), sentence.size()));
  std::_Exit(interrupted);
}

}
