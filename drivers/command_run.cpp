#include <fmt/format.h>
#include <fmt/ranges.h>

#include <atomic>
#include <exception>
#include <memory>
#include <optional>

#include "cxx/base/clock.hpp"
#include "cxx/base/error.hpp"
#include "cxx/base/printable.hpp"
#include "cxx/base/terminal.hpp"
#include "cxx/base/threads.hpp"
#include "cxx/calculation/distributed_calculation.hpp"
#include "cxx/parallel/ranks.hpp"
#include "cxx/parallel/same_numbers.hpp"
#include "cxx/report/check_report.hpp"
#include "cxx/report/rank_report.hpp"
#include "cxx/report/report.hpp"
#include "drivers/begin_devices.hpp"
#include "drivers/command_environment.hpp"
#include "drivers/commands.hpp"
#include "drivers/outputs.hpp"
#include "drivers/progress.hpp"
#include "drivers/same_input.hpp"
#include "drivers/same_options.hpp"
#include "drivers/source_options.hpp"
#include "drivers/stop_signals.hpp"
#include "tce_tiles/checks/source_check.hpp"
#include "tce_tiles/tiles/interruptible_source.hpp"

namespace trifuse::cli {

namespace {

std::atomic<bool> stop_requested{false};

void request_stop(int) {
  stop_requested = true;
}

/// True on the rank that prints messages. All ranks of a job get the signal, but only one rank prints.
bool speaks = true;

/// The handler while files are read. At that time there is nothing to finish.
void stop_at_once(int) {
  end_in_handler(speaks ? "trifuse: Stopped before the first task; nothing had been computed.\n" : "");
}

struct RunCommand {
  SourceOptions source;
  CalculationFlags flags;
  std::string json, journal;
  bool quiet = false, trust_input = false, overwrite = false;

  /// `command`: the parsed command line. `communicator`: the ranks of the job; null for a single process.
  void execute(const CLI::App& command, Communicator* communicator) const {
    speaks = communicator == nullptr || communicator->rank() == 0;
    on_stop_signals(stop_at_once);
    if (communicator != nullptr) expect_same_options(*communicator, command);
    const double begin = wall_seconds();
    Outputs outputs(overwrite);
    std::optional<ReportFile> json_file;
    Sources sources;
    CalculationOptions options;
    run_collectively(communicator, [&] {
      refuse_other_environment(command);
      static_cast<void>(flags.resolve());  // refuses impossible options before anything is read
      source.protect_in(outputs);
      outputs.protect_input(flags.left);
      outputs.protect_journal(journal);
      json_file.emplace(outputs, speaks ? json : "", "run");
      sources.right = source.open(flags.left);
      outputs.protect_inputs(*sources.right);
      if (flags.left.empty()) return;
      sources.left = source.open_left(flags.left);
      outputs.protect_inputs(*sources.left);
    });
    RunTimes times;
    const double opened = wall_seconds();
    BegunDevices begun;
    run_collectively(communicator, [&] { begun = begin_devices(flags, *sources.right, communicator); });
    sources.right_check = verify(*sources.right, *sources.right, communicator);
    if (sources.left) sources.left_check = verify(*sources.left, *sources.right, communicator);
    run_collectively(communicator, [&] {
      options = begun.options.get();
      options.journal = journal;
      options.trust_input = trust_input;
      options.ccsd_energy = sources.right_check.ccsd_energy;
    });
    // Reading operands and multiplying factors to them may take minutes.
    const InterruptibleSource right(*sources.right, stop_requested);
    std::optional<InterruptibleSource> left;
    if (sources.left) left.emplace(*sources.left, stop_requested);
    const TileSource* const left_if_any = left ? &*left : nullptr;
    const double checked = wall_seconds();
    times.checking = checked - opened;
    const auto compute_planned = [&](const Calculation& calculation, const DistributedCalculation* planned) {
      times.planning = wall_seconds() - checked;
      compute(calculation, sources, planned, begin, times, *json_file);
    };
    if (communicator == nullptr) {
      compute_planned(Calculation(right, left_if_any, options), nullptr);
      return;
    }
    // If ranks have read different files, this energy differs.
    const double energy = sources.right_check.ccsd_energy.value_or(0.0);
    expect_same(*communicator, std::span(&energy, 1));
    const DistributedCalculation planned =
        plan_distributed(*communicator, right, left_if_any, options_with_device(*communicator, options));
    compute_planned(planned.calculation, &planned);
  }

 private:
  /// True if the energies and warnings are only in the report.
  bool prints_only_report() const { return is_standard_output(json) || (quiet && !json.empty()); }

  struct Sources {
    std::unique_ptr<TileSource> right, left;
    CheckReport right_check, left_check;
    const CheckReport* left_check_if_any() const { return left ? &left_check : nullptr; }
  };

  /// Checks amplitudes. If the file is the same for all ranks, each rank checks a part of it; otherwise each rank
  /// checks its whole file. Collective if `communicator` is not null.
  CheckReport verify(const TileSource& amplitudes, const TileSource& integrals, Communicator* communicator) const {
    const bool shared = communicator != nullptr && same_file(*communicator, amplitudes.info().path);
    CheckShare share;
    if (shared) share = {communicator->rank(), communicator->size()};
    // This call is collective, so a rank with a given number of threads makes it, too.
    if (communicator != nullptr) share.threads = threads_of_each(*communicator);
    if (flags.options.threads > 0) share.threads = flags.options.threads;
    // Ranks of one host share its cores, also where the check does not pass on the number of threads.
    std::optional<OpenMpThreads> limit;
    if (share.threads > 0) limit.emplace(share.threads);
    // Compares the inputs of the ranks before the ranks add up their parts, because the parts must have the same
    // lengths. Compares them again below, when all checksums are known.
    if (communicator != nullptr) expect_same_numbers(*communicator, amplitudes);
    std::unique_ptr<SourceCheck> check;
    run_collectively(communicator, [&] { check = make_source_check(amplitudes, integrals, share); });
    for (int stage = 0; stage < check->stages(); ++stage) {
      std::vector<double> found;
      if (shared) check->read_together(stage, *communicator);
      run_collectively(communicator, [&] { found = check->run(stage); });
      if (shared) communicator->allreduce_sum(found);
      run_collectively(communicator, [&] { check->accept(stage, found); });
    }
    CheckReport report;
    run_collectively(communicator, [&] {
      report = evaluate_witnesses(check->measurements(), amplitudes, integrals);
      enforce_witnesses(report, trust_input);
    });
    if (communicator != nullptr) expect_same_numbers(*communicator, amplitudes);
    return report;
  }

  /// `job`: the plan of all ranks, or null for a single process. `begin`: time at which the input was opened.
  void compute(const Calculation& calculation, const Sources& sources, const DistributedCalculation* job, double begin,
               RunTimes times, ReportFile& json_file) const {
    const bool silent = prints_only_report() || quiet || !speaks;
    if (!silent) {
      print_output("{}", describe_source(*sources.right));
      if (sources.left) print_output("Left         {}\n", printable(sources.left->info().path));
      print_output("{}", describe_ccsd(sources.right->info(), sources.right_check.ccsd_energy));
      print_output("{}", describe_checks(sources.right_check, sources.left_check_if_any()));
      print_output("{}", describe_plan(calculation));
      if (job != nullptr) print_output("{}\n", fmt::join(rank_table(*job), "\n"));
      flush_output();
    }
    on_stop_signals(request_stop);
    Progress progress(silent);
    const auto warn = [&](const std::string& warning) {
      if (prints_only_report()) return;
      progress.finish();
      print_error("trifuse: warning: {}\n", printable(warning));
    };
    if (silent && speaks) {  // the checks, which contain their warnings, are not printed
      for (const std::string& warning : check_warnings(sources.right_check, sources.left_check_if_any())) warn(warning);
    }
    std::exception_ptr failure;  // the other ranks need this one until the run returns
    const auto tell = [&](const CalculationResult& result) {
      times.whole = wall_seconds() - begin;
      progress.finish();
      if (!speaks) return;
      try {
        report(calculation, result, sources, job, times, json_file);
      } catch (...) {
        failure = std::current_exception();
      }
    };
    try {
      static_cast<void>(calculation.run(
          &stop_requested, [&](const RunProgress& now) { progress.update(now); }, warn, tell));
    } catch (...) {
      progress.finish();
      throw;
    }
    if (failure) std::rethrow_exception(failure);
  }

  /// Prints the energies and writes the JSON report.
  void report(const Calculation& calculation, CalculationResult result, const Sources& sources,
              const DistributedCalculation* job, const RunTimes& times, ReportFile& json_file) const {
    if (job != nullptr) result.remove_device_reports();
    std::string energies =
        describe_result(calculation, result, times, sources.right->info(), sources.right_check.ccsd_energy);
    if (job != nullptr) energies += describe_workers(result.ranks);
    try {
      nlohmann::ordered_json written = json_report(calculation, result, times, *sources.right, sources.left.get(),
                                                   sources.right_check, sources.left_check_if_any());
      if (job != nullptr) {
        written["ranks"] = json_ranks(*job, result);
        written["kinds"] = json_kinds(result.ranks);
      }
      json_file.write(written);
    } catch (...) {
      // If the report cannot be written, the energies are printed all the same, with a warning for a user who keeps
      // only this output.
      write_output(energies + "\nWARNING      The report " + printable(json) + " could not be written.\n");
      throw;
    }
    if (!prints_only_report()) write_output(energies);
    flush_output();
  }
};

}  // namespace

void add_run(CLI::App& app, Communicator* communicator) {
  auto command = std::make_shared<RunCommand>();
  CLI::App* run = app.add_subcommand("run", "Compute [T], (T) and Reg-(T) energies");
  command->source.add_to(*run);
  command->flags.add_to(*run);
  run->add_option("--journal", command->journal, "Checkpoint file: run the same command again to resume");
  run->add_option("--json", command->json,
                  "Write energies, settings and timings to this JSON file; - is standard output");
  run->add_flag("--trust-input", command->trust_input, "Continue after a failed witness; the report says so");
  run->add_flag("-q,--quiet", command->quiet, "Print only energies, time and memory; with --json print nothing");
  add_overwrite(*run, command->overwrite);
  run->footer(
      "Examples:\n"
      "  trifuse run scratch/c                                NWChem files c.t1amp.000000, c.t2amp.000000, ...\n"
      "  trifuse run water.h5 --omega2 0,0.1,0.2 --json out.json\n"
      "  trifuse run water.h5 --left water_reg_0.1.h5         two-sided Reg-CCSD(T)\n"
      "  mpirun -n 4 trifuse run water.h5                     four processes on GPUs or CPU cores (builds with MPI)\n"
      "Details: drivers/docs/running.md (devices, memory, processes, journal)\n"
      "         drivers/docs/methods.md (--omega2, --left, --rohf)");
  run->callback([command, run, communicator] { command->execute(*run, communicator); });
}

}  // namespace trifuse::cli
