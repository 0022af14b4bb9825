#include <fmt/format.h>

#include <atomic>
#include <memory>
#include <optional>

#include "cxx/base/clock.hpp"
#include "cxx/base/error.hpp"
#include "cxx/base/printable.hpp"
#include "cxx/base/terminal.hpp"
#include "cxx/job/job.hpp"
#include "cxx/report/check_report.hpp"
#include "cxx/report/rank_report.hpp"
#include "cxx/report/report.hpp"
#include "drivers/command_environment.hpp"
#include "drivers/commands.hpp"
#include "drivers/derivatives_file.hpp"
#include "drivers/outputs.hpp"
#include "drivers/progress.hpp"
#include "drivers/same_options.hpp"
#include "drivers/source_options.hpp"
#include "drivers/stop_signals.hpp"

namespace trifuse::cli {

namespace {

std::atomic<bool> stop_requested{false};

void request_stop(int) {
  stop_requested = true;
}

/// True on the rank that prints messages. All ranks of a job get the signal, but only one rank prints.
bool speaks = true;

/// The signal handler while files are read. At that time there is nothing to finish.
void stop_at_once(int) {
  end_in_handler(speaks ? "trifuse: Stopped before the first task; nothing had been computed.\n" : "");
}

struct RunCommand {
  SourceOptions source;
  CalculationFlags flags;
  std::string json, derivatives, derivatives_of = "all";
  bool quiet = false, overwrite = false;

  /// `command`: the parsed command line. `communicator`: the ranks of the job; null for a single process.
  void execute(const CLI::App& command, Communicator* communicator) const {
    speaks = communicator == nullptr || communicator->rank() == 0;
    on_stop_signals(stop_at_once);
    if (communicator != nullptr) expect_same_options(*communicator, command);
    const double begin = wall_seconds();
    Outputs outputs(overwrite);
    std::optional<ReportFile> json_file;
    std::optional<DerivativesFile> derivatives_file;
    std::unique_ptr<TileSource> right, left;
    CalculationOptions options;
    run_collectively(communicator, [&] {
      refuse_other_environment(command);
      options = flags.resolve();  // refuses impossible options before anything is read
      source.protect_in(outputs);
      outputs.protect_input(flags.left);
      outputs.protect_journal(options.journal);
      if (!derivatives.empty())
        options.derivatives = derivatives_of == "t" ? Derivatives::amplitudes : Derivatives::all;
      options.wants_derivatives = speaks;
      json_file.emplace(outputs, speaks ? json : "", "run");
      derivatives_file.emplace(outputs, speaks ? derivatives : "");
      right = source.open(flags.left);
      outputs.protect_inputs(*right);
      if (flags.left.empty()) return;
      left = source.open_left(flags.left);
      outputs.protect_inputs(*left);
    });
    JobOptions job;
    job.calculation = options;
    job.begin = begin;
    Watch watch(*this, *json_file, *derivatives_file);
    static_cast<void>(run_job({.source = right.get()}, {.source = left.get()}, job, communicator, watch));
  }

 private:
  /// Returns true if the energies and warnings are only in the report.
  bool prints_only_report() const { return is_standard_output(json) || (quiet && !json.empty()); }

  /// Shows the user what happens.
  class Watch final : public JobWatch {
   public:
    Watch(const RunCommand& command, ReportFile& json_file, DerivativesFile& derivatives_file)
        : command_(command),
          json_file_(json_file),
          derivatives_file_(derivatives_file),
          silent_(command.prints_only_report() || command.quiet || !speaks),
          progress_(silent_) {}

    const std::atomic<bool>* stop() const override { return &stop_requested; }
    void planned(const PlannedJob& job) override {
      if (!silent_) {
        print_output("{}", describe_job(job));
        flush_output();
      } else if (speaks) {  // the checks are not printed; their warnings are
        for (const std::string& warning : check_warnings(job.right_check, job.left_check)) warn(warning);
      }
      on_stop_signals(request_stop);
    }
    void progress(const RunProgress& now) override { progress_.update(now); }
    void warn(const std::string& sentence) override {
      if (command_.prints_only_report()) return;
      progress_.finish();
      print_error("trifuse: warning: {}\n", printable(sentence));
    }
    void finished(const FinishedJob& job) override {
      progress_.finish();
      if (!speaks) return;
      command_.report(job, json_file_, derivatives_file_);
    }

   private:
    const RunCommand& command_;
    ReportFile& json_file_;
    DerivativesFile& derivatives_file_;
    const bool silent_;
    Progress progress_;
  };

  /// Writes the derivatives and the JSON report, and prints the energies.
  void report(const FinishedJob& job, ReportFile& json_file, DerivativesFile& derivatives_file) const {
    std::string energies =
        describe_result(job.calculation, job.result, job.times, job.right.info(), job.right_check.ccsd_energy);
    if (job.ranks != nullptr) energies += describe_workers(job.result.ranks);
    std::string written = "file of derivatives " + printable(derivatives);
    try {
      derivatives_file.write(job.result);
      written = "report " + printable(json);
      json_file.write(json_report(job));
    } catch (...) {
      // If a file cannot be written, the energies are printed all the same, with a warning for a user who keeps only
      // this output.
      write_output(energies + "\nWARNING      The " + written + " could not be written.\n");
      throw;
    }
    if (!prints_only_report()) write_output(energies);
    flush_output();
  }
};

}

void add_run(CLI::App& app, Communicator* communicator) {
  auto command = std::make_shared<RunCommand>();
  CLI::App* run = app.add_subcommand("run", "Compute [T], (T) and Reg-(T) energies");
  command->source.add_to(*run);
  command->flags.add_to(*run, true);
  run->add_option("--json", command->json,
                  "Write energies, settings and timings to this JSON file; - is standard output");
  CLI::Option* const file = run->add_option("--derivatives", command->derivatives,
                                            "Write derivatives of E(T) by the arrays of the input to this HDF5 file");
  run->add_option("--derivatives-of", command->derivatives_of, "by the amplitudes and small arrays (t), or by all")
      ->needs(file)
      ->check(CLI::IsMember({"t", "all"}))
      ->capture_default_str();
  run->add_flag("-q,--quiet", command->quiet, "Print only energies, time and memory; with --json print nothing");
  add_overwrite(*run, command->overwrite);
  run->footer(
      "Examples:\n"
      "  trifuse run scratch/c                                NWChem files c.t1amp.000000, c.t2amp.000000, ...\n"
      "  trifuse run water.h5 --omega2 0,0.1,0.2 --json out.json\n"
      "  trifuse run water.h5 --left water_reg_0.1.h5         two-sided Reg-CCSD(T)\n"
      "  mpirun -n 4 trifuse run water.h5                     four processes on GPUs or CPU cores (builds with MPI)\n"
      "Details: drivers/docs/running.md (devices, memory, processes, journal)\n"
      "         drivers/docs/methods.md (--method, --omega2, --left, --rohf)\n"
      "         drivers/docs/mixed-precision.md (--precision, --target-error)\n"
      "         drivers/docs/derivatives.md (--derivatives)");
  run->callback([command, run, communicator] { command->execute(*run, communicator); });
}

}
