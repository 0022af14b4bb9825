#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "cxx/base/error.hpp"
#include "drivers/commands.hpp"
#include "drivers/progress.hpp"
#include "drivers/report.hpp"
#include "drivers/source_options.hpp"

namespace trifuse::cli {

namespace {

std::atomic<bool> stop_requested{false};

void request_stop(int) {
  stop_requested = true;
}

/// While files are read there is nothing to finish. A handler may call neither stdio nor exit handlers.
void stop_at_once(int) {
  constexpr std::string_view sentence = "trifuse: Stopped before the first task; nothing had been computed.\n";
  static_cast<void>(!::write(STDERR_FILENO, sentence.data(), sentence.size()));
  std::_Exit(interrupted);
}

void on_stop_signals(void (*handler)(int)) {
  for (const int signal : {SIGINT, SIGTERM}) {
    struct sigaction action {};
    action.sa_handler = handler;
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    sigaction(signal, &action, nullptr);
  }
}

struct RunCommand {
  SourceOptions source;
  CalculationFlags flags;
  std::string json, journal;
  bool quiet = false;

  void execute() const {
    on_stop_signals(stop_at_once);
    static_cast<void>(flags.resolve());  // options that cannot be honoured are refused before anything is read
    JsonFile json_file(json);
    const std::unique_ptr<TileSource> right = source.open();
    const std::unique_ptr<TileSource> left = flags.left.empty() ? nullptr : source.open_left(flags.left);
    const std::optional<double> ccsd_energy = verify_source(*right, *right);
    if (left) verify_source(*left, *right);
    CalculationOptions options = flags.resolve(*right);
    options.journal = journal;
    const Calculation calculation(*right, left.get(), options);
    if (!quiet) {
      fmt::print("{}", describe_source(*right));
      if (left) fmt::print("Left         {}\n", left->info().path);
      if (ccsd_energy) fmt::print("CCSD         correlation energy of these amplitudes {:.15f} Eh\n", *ccsd_energy);
      fmt::print("{}", describe_plan(calculation));
      std::fflush(stdout);
    }
    // The first signal asks for an orderly stop, a second one ends the program where it is.
    on_stop_signals(request_stop);
    Progress progress(quiet);
    const CalculationResult result = [&] {
      try {
        return calculation.run(&stop_requested, [&](const RunProgress& now) { progress.update(now); });
      } catch (...) {
        progress.finish();
        throw;
      }
    }();
    progress.finish();
    const std::string energies = describe_result(calculation, result, right->info());
    try {
      json_file.write(json_report(calculation, result, *right, left.get(), ccsd_energy));
    } catch (const SystemError&) {
      // The energies are not lost with their file.
      fmt::print("{}", energies);
      throw;
    }
    if (!quiet || json.empty()) fmt::print("{}", energies);
  }
};

}  // namespace

void add_run(CLI::App& app, int&) {
  auto command = std::make_shared<RunCommand>();
  CLI::App* run = app.add_subcommand("run", "Compute [T], (T) and Reg-(T) energies");
  command->source.add_to(*run);
  command->flags.add_to(*run);
  run->add_option(
      "--journal", command->journal,
      "File that keeps finished tasks: the same command continues a run that was stopped or killed, to the same bits");
  run->add_option("--json", command->json, "Write energies, settings, timings and versions to this file");
  run->add_flag("-q,--quiet", command->quiet, "No progress and no explanations; with --json nothing on the terminal");
  run->footer(
      "Examples:\n"
      "  trifuse run scratch/c                                NWChem files c.t1amp.000000, c.t2amp.000000, ...\n"
      "  trifuse run water.h5 --omega2 0,0.1,0.2 --json out.json\n"
      "  trifuse run water.h5 --left water_reg_0.1.h5         two-sided Reg-CCSD(T)");
  run->callback([command] { command->execute(); });
}

}  // namespace trifuse::cli
