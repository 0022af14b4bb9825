#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>
#include <system_error>

#include "cxx/base/error.hpp"
#include "drivers/commands.hpp"
#include "drivers/machine.hpp"
#include "tce_tiles/hdf5_file.hpp"

namespace trifuse::cli {
namespace {

/// Several copies of the program would each do all of the work and write the same files.
void refuse_several_processes() {
  for (const char* variable : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"}) {
    const char* text = std::getenv(variable);
    if (text != nullptr && std::atoi(text) > 1) {
      throw UsageError(fmt::format(
          "This program was started {} times by an MPI or Slurm launcher ({}), but it runs as one process; start it "
          "once and use --threads.",
          text, variable));
    }
  }
}

int run_program(int argc, char** argv) {
  CLI::App app{"Trifuse: the triples correction of CCSD(T) and Reg-CCSD(T) from converged amplitudes.", "trifuse"};
  app.set_version_flag("--version", version_text);
  app.set_help_all_flag("--help-all", "Print the help of all commands");
  app.require_subcommand(1);
  app.footer(
      "Exit codes: 0 success; 1 a file is absent, unreadable or unsound; 2 wrong options; 3 no memory, no space or an "
      "unwritable\n"
      "file; 4 a check failed or an internal error; 130 stopped by a signal (a run with --journal can go on).\n"
      "`trifuse COMMAND --help` says more.");
  int exit_code = success;
  add_run(app, exit_code);
  add_info(app, exit_code);
  add_convert(app, exit_code);
  add_bench(app, exit_code);
  add_selftest(app, exit_code);
  try {
    refuse_several_processes();
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? success : bad_usage;
  }
  return exit_code;
}

/// What is still in the buffer is lost without a word when the program ends at a full disk.
void finish_output() {
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    throw SystemError("Standard output cannot be written to its end; free some space there or give another place.");
  }
}

int report(const std::string& sentence, int code) {
  fmt::print(stderr, "trifuse: {}\n", sentence);
  return code;
}

}  // namespace
}  // namespace trifuse::cli

int main(int argc, char** argv) {
  using namespace trifuse;
  using namespace trifuse::cli;
  // A file that reaches the limit of `ulimit -f` is then an error with a sentence, as a full disk is.
  std::signal(SIGXFSZ, SIG_IGN);
  keep_hdf5_silent_at_exit();
  try {
    const int code = run_program(argc, argv);
    finish_output();
    return code;
  } catch (const InputError& error) {
    return report(error.what(), bad_input);
  } catch (const UsageError& error) {
    return report(error.what(), bad_usage);
  } catch (const SystemError& error) {
    return report(error.what(), bad_system);
  } catch (const Interrupted& error) {
    return report(error.what(), interrupted);
  } catch (const std::bad_alloc&) {
    return report("There is not enough memory for the amplitudes and integrals; `trifuse info` shows what a run needs.",
                  bad_system);
  } catch (const std::system_error& error) {
    return report(error.what(), bad_system);
  } catch (const std::exception& error) {
    return report(error.what(), failed_check);
  }
}
