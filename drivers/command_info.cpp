#include <algorithm>
#include <memory>

#include "cxx/base/printable.hpp"
#include "cxx/base/terminal.hpp"
#include "cxx/calculation/memory_plan.hpp"
#include "cxx/report/check_report.hpp"
#include "cxx/report/json_values.hpp"
#include "cxx/report/report.hpp"
#include "drivers/command_environment.hpp"
#include "drivers/commands.hpp"
#include "drivers/dgemm_rate.hpp"
#include "drivers/outputs.hpp"
#include "drivers/progress.hpp"
#include "drivers/source_options.hpp"
#include "tce_tiles/checks/source_check.hpp"

namespace trifuse::cli {

namespace {

/// The fraction of the DGEMM rate that every observed run reached, for the estimated time.
constexpr double usual_share = 0.6;

struct InfoCommand {
  SourceOptions source;
  CalculationFlags flags;
  std::string json;
  bool no_check = false, overwrite = false;

  void execute() const {
    CalculationOptions options = flags.resolve();  // refuses impossible options before anything is read
    Outputs outputs(overwrite);
    source.protect_in(outputs);
    outputs.protect_input(flags.left);
    ReportFile json_file(outputs, json, "info");
    const std::unique_ptr<TileSource> right = source.open(flags.left);
    const std::unique_ptr<TileSource> left = flags.left.empty() ? nullptr : source.open_left(flags.left);
    outputs.protect_inputs(*right);
    if (left) outputs.protect_inputs(*left);
    CheckReport checks, left_checks;
    if (!no_check) {
      checks = verify_source(*right, *right, options.trust_input);
      if (left) left_checks = verify_source(*left, *right, options.trust_input);
    }
    const std::optional<double> ccsd_energy = checks.ccsd_energy;
    const CheckReport* const of_left = left && !no_check ? &left_checks : nullptr;
    if (options.choose_executor)
      options.executor = choose_executor(right->tiles(), options.formulation, options.precision);
    const Calculation calculation(*right, left.get(), options);
    // The rate of a device is known only after its set-up, and this command does not set up devices.
    const bool on_cpu = calculation.devices().empty();
    const double rate = on_cpu ? measure_dgemm(512, calculation.memory().threads, 5) * usual_share : 0.0;
    const double seconds = on_cpu ? calculation.plan().total_operations / rate : 0.0;

    if (!is_standard_output(json)) {
      print_output("{}", describe_source(*right));
      if (left) print_output("Left         {}\n", printable(left->info().path));
      print_output("{}", describe_ccsd(right->info(), ccsd_energy));
      print_output("{}", no_check ? "Checks       none were made (--no-check)\n"
                                  : "Arrays       all numbers finite, symmetries as claimed\n");
      print_output("{}", describe_checks(checks, of_left));
      for (const std::string& sentence : calculation.input_warnings()) print_output("Warning      {}\n", sentence);
      print_output("{}", describe_plan(calculation));
      print_output("Denominators largest {:.6f} Eh\n", calculation.largest_denominator());
      if (on_cpu) {
        print_output("Estimate     {} on this machine ({:.0f} GF/s)\n",
                     seconds < 1.0 ? "less than 1 s" : duration(seconds), rate * 1e-9);
      }
      print_output("\n");
      print_tiles(calculation.plan().tiles);
    }
    nlohmann::ordered_json document = {{"input", json_source(*right)},
                                       {"plan", json_plan(calculation)},
                                       {"estimated_seconds", json_if(on_cpu, seconds)},
                                       {"machine", json_machine()}};
    if (ccsd_energy) document["ccsd_correlation_energy"] = *ccsd_energy;
    document["checks"] = json_checks(checks, of_left);
    document["warnings"] = check_warnings(checks, of_left);
    for (const std::string& sentence : calculation.input_warnings()) document["warnings"].push_back(sentence);
    json_file.write(document);
  }

  static void print_tiles(const TileSpace& tiles) {
    print_output("{:>5}  {:<15} {:>5} {:>6} {:>7}\n", "tile", "class", "irrep", "size", "offset");
    constexpr int most = 60;
    for (int t = 0; t < std::min(most, tiles.size()); ++t) {
      print_output("{:5}  {:<15} {:5} {:6} {:7}\n", t + 1, to_string(tiles[t].orbital_class), tiles[t].irrep,
                   tiles[t].size, tiles[t].offset);
    }
    if (tiles.size() > most) print_output("{:>5}  and {} more\n", "", tiles.size() - most);
  }
};

}

void add_info(CLI::App& app, int&) {
  auto command = std::make_shared<InfoCommand>();
  CLI::App* info =
      app.add_subcommand("info", "Check amplitudes and show tiles, tasks, operations, memory and time of a run");
  command->source.add_to(*info);
  command->flags.add_to(*info, false);
  info->add_flag("--no-check", command->no_check, "Read only names, shapes and attributes, not the numbers");
  info->add_option("--json", command->json, "Write the same to this JSON file; - is standard output");
  add_overwrite(*info, command->overwrite);
  info->footer(
      "Examples:\n"
      "  trifuse info scratch/c                               NWChem files\n"
      "  trifuse info water.h5 --device cuda                  what a run on GPUs would do\n"
      "  trifuse info water.h5 --no-check --json -\n"
      "Details: drivers/docs/running.md (before a run)\n"
      "         tce_tiles/docs/checks.md (what is checked)");
  info->callback([command, info] {
    refuse_other_environment(*info);
    command->execute();
  });
}

}
