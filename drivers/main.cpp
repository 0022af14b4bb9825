#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/resource.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "cxx/base/error.hpp"
#include "cxx/base/nearest_name.hpp"
#include "cxx/base/printable.hpp"
#include "cxx/base/terminal.hpp"
#include "drivers/command_line_errors.hpp"
#include "drivers/commands.hpp"
#include "drivers/launcher.hpp"
#include "drivers/mpi_processes.hpp"
#include "drivers/openblas_kernels.hpp"
#include "drivers/pages.hpp"
#include "drivers/same_options.hpp"
#include "drivers/stop_signals.hpp"
#include "drivers/version_text.hpp"

namespace trifuse::cli {
namespace {

void stop_program(int) {
  end_in_handler("trifuse: Stopped by a signal; unfinished files were removed.\n");
}

/// Allows as many open files as the system permits. A large NWChem job writes several files for each of its processes,
/// and a run keeps all of them open.
void allow_many_open_files() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  static_cast<void>(setrlimit(RLIMIT_NOFILE, &limit));  // if this fails, an error about a file will say what is missing
}

/// Throws UsageError if the first argument is not an option and not the name of a command.
void expect_command(const CLI::App& app, int argc, char** argv) {
  const std::string word = argc > 1 ? argv[1] : "";
  if (word.empty() || word.front() == '-') return;
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (command->get_name() == word) return;
    if (!command->get_group().empty()) names.push_back(command->get_name());
  }
  const std::string nearest = nearest_name(word, names);
  throw UsageError(nearest.empty()
                       ? fmt::format("There is no command '{}'; the commands are {}.", word, fmt::join(names, ", "))
                       : fmt::format("There is no command '{}'; did you mean '{}'?", word, nearest));
}

/// Throws UsageError if a list has an empty member, which the parser would leave out.
void refuse_empty_members(const CLI::App& app, int argc, char** argv) {
  const std::vector<std::string> words(argv, argv + argc);
  const auto is_asked_for = [&](const CLI::App* command) { return argc > 1 && command->check_name(argv[1]); };
  const auto is_list = [](const CLI::Option* option) { return option->get_delimiter() != 0; };
  for (const CLI::App* command : app.get_subcommands(is_asked_for)) {
    for (const CLI::Option* option : command->get_options(is_list)) {
      const std::string name = option->get_name();
      for (std::size_t n = 2; n < words.size(); ++n) {
        const bool joined = words[n].starts_with(name + "=");
        if (!joined && words[n - 1] != name) continue;
        const std::string list = "," + words[n].substr(joined ? name.size() + 1 : 0) + ",";
        if (list != ",," && list.find(",,") != std::string::npos)
          throw UsageError(fmt::format("{} is {}, with an empty member; leave out the comma, or give the value.", name,
                                       list.substr(1, list.size() - 2)));
      }
    }
  }
}

/// Runs the command line and returns the exit code. `communicator`: the ranks of the job; null for a single process.
/// Only rank 0 prints.
int run_program(int argc, char** argv, Communicator* communicator) {
  if (communicator == nullptr) on_stop_signals(stop_program);
  CLI::App app{"Trifuse: the triples correction of CCSD(T) and Reg-CCSD(T) from converged amplitudes.", "trifuse"};
  app.set_version_flag("--version", version_text);
  app.set_help_all_flag("--help-all", "Print the help of all commands");
  app.require_subcommand(1);
  app.footer(
      "Exit codes: 0 success; 1 a file is missing, unreadable or invalid; 2 wrong options; 3 no memory, no disk space "
      "or an\n"
      "unwritable file; 4 a failed self-test or an internal error; 130 stopped by a signal (--journal makes a run "
      "resumable).\n"
      "`trifuse COMMAND --help` lists the options of a command. drivers/docs/running.md explains them.");
  int exit_code = success;
  add_run(app, communicator);
  add_info(app, exit_code);
  add_plan(app, exit_code);
  add_convert(app, exit_code);
  add_bench(app, exit_code);
  add_selftest(app, exit_code);
  add_describe(app);
  expect_command(app, argc, argv);
  // An empty value often comes from a script variable that is not set. It must not be ignored.
  const CLI::Validator not_empty([](const std::string& text) { return text.empty() ? "an empty value" : ""; }, "");
  for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; })) {
    for (CLI::Option* option : command->get_options()) option->check(not_empty);
  }
  try {
    run_collectively(communicator, [&] { refuse_empty_members(app, argc, argv); });
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // Other ranks may have a valid command line. They wait for this rank in a collective call.
    if (error.get_exit_code() != 0)
      run_collectively(communicator, [&] { throw UsageError(command_line_error(app, error)); });
    if (communicator != nullptr) expect_all_ask_for_help(*communicator);
    std::ostringstream help;
    app.exit(error, help);
    if (communicator == nullptr || communicator->rank() == 0) write_output(with_paths_of_pages(help.str()));
    return success;
  }
  return exit_code;
}

/// Flushes standard output. Without this check, buffered output would be lost without a message if the disk is full.
void finish_output() {
  const int error = output_error();
  if (error == 0) return;
  if (error == EPIPE) {
    throw SystemError(
        "Standard output could not be written completely, because the program that reads it has ended; let it read to "
        "the end, or write to a file.");
  }
  const bool full = error == ENOSPC || error == EDQUOT || error == EFBIG;
  throw SystemError(fmt::format("Standard output could not be written completely: {}; {}write to another place.",
                                std::strerror(error), full ? "free some space, or " : ""));
}

/// The result of the program.
struct Ending {
  int code;
  std::string sentence;  ///< message for the user; empty if there is none
};

ExitCode code_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::none:
      return success;
    case ErrorKind::input:
      return bad_input;
    case ErrorKind::usage:
      return bad_usage;
    case ErrorKind::system:
      return bad_system;
    case ErrorKind::interrupted:
      return interrupted;
    case ErrorKind::internal:
      break;
  }
  return failed_check;
}

/// Runs `body`, which returns an exit code. Turns an exception into its exit code and message.
template <typename Body>
Ending ending_of(Body body) {
  try {
    return {body(), ""};
  } catch (...) {
    const std::exception_ptr failure = std::current_exception();
    return {code_of(kind_of(failure)), sentence_of(failure)};
  }
}

std::unique_ptr<MpiProcesses> join_others(const Launcher& launcher, const std::string& command) {
  if (command != "run") refuse(launcher, "only `trifuse run` can use several processes");
  return begin_mpi(launcher);
}

}
}

int main(int argc, char** argv) {
  using namespace trifuse;
  using namespace trifuse::cli;
  occupy_standard_streams();
  restart_with_other_openblas(argv);
  allow_many_open_files();
  // With this, a file that exceeds the limit of `ulimit -f` is an ordinary error, like a full disk.
  std::signal(SIGXFSZ, SIG_IGN);
  // With this, the report is still completed if the reader of the output ends.
  std::signal(SIGPIPE, SIG_IGN);
  std::unique_ptr<MpiProcesses> mpi;
  const Ending ending = ending_of([&] {
    int code = success;
    if (const std::optional<Launcher> launcher = find_launcher()) {
      mpi = join_others(*launcher, argc > 1 ? argv[1] : "");
      mpi->serve([&](Communicator& communicator) { code = run_program(argc, argv, &communicator); });
    } else {
      code = run_program(argc, argv, nullptr);
    }
    finish_output();
    return code;
  });
  const auto tell = [&] {
    if (!ending.sentence.empty()) print_error("trifuse: {}\n", printable(ending.sentence));
  };
  if (mpi) {
    // If a rank ends with an error, the launcher stops the other ranks by signals. These ranks are about to end anyway.
    for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, SIG_IGN);
    return mpi->end(ending.code, tell);
  }
  tell();
  return ending.code;
}
