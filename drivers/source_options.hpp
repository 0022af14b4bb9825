#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cxx/calculation/option_table.hpp"
#include "drivers/outputs.hpp"
#include "tce_tiles/dense/array_specs.hpp"
#include "tce_tiles/sources/open_source.hpp"

namespace trifuse::cli {

/// Options that say where the amplitudes are. All commands that read amplitudes share them.
struct SourceOptions {
  std::string path;
  std::string nwchem_output, nwchem_movecs;
  std::optional<std::int64_t> nwchem_tile_size, frozen_core, frozen_virtual;

  /// Adds the options to `command`. `required`: true if the command cannot work without amplitudes.
  void add_to(CLI::App& command, bool required = true);
  /// Opens the amplitudes. `left_path`: the path that `open_left` will get, or empty. Throws UsageError if options for
  /// NWChem files are given but no path leads to NWChem files. Throws InputError if the files cannot be read.
  std::unique_ptr<TileSource> open(const std::string& left_path = "") const;
  /// Protects the files that these options name: none of `outputs` may replace them. Other input files are known only
  /// after `open`.
  void protect_in(Outputs& outputs) const;
  /// Opens the amplitudes of the left side, which have the same orbitals.
  std::unique_ptr<TileSource> open_left(const std::string& left_path) const;

 private:
  void expect_nwchem_files(const std::string& left_path) const;
};

/// Options of the option table on the command line of a command.
class TableOptions {
 public:
  /// Adds an option of the table. `name`: e.g. --tile-size. `sentence`, `flag`: for this command, if they are others
  /// than in the table.
  void add_to(CLI::App& command, const std::string& name, std::string sentence = "", std::string flag = "");
  /// Sets the options that the command line has. Throws UsageError if a value is not possible.
  void set(CalculationOptions& options) const;

 private:
  std::vector<std::pair<const CalculationOption*, const CLI::Option*>> added_;
};

/// Options of a calculation, shared by the commands run and info.
struct CalculationFlags {
  std::string left;

  /// Adds the options to `command`. `journal`: with that of a journal.
  void add_to(CLI::App& command, bool journal);
  /// Returns the options of the calculation. Throws UsageError if options contradict each other, or if a GPU that the
  /// user asks for cannot be used.
  CalculationOptions resolve() const;

 private:
  const CLI::App* command_ = nullptr;
  TableOptions table_;
  std::string executor_;
};

/// Adds the option --factors, also named --naux, to a command about a made-up molecule. `auxiliary`: number of
/// auxiliary functions of the factors that give its integrals.
template <typename Number>
void add_factors(CLI::App& command, Number& auxiliary) {
  command
      .add_option(
          "--factors,--naux", auxiliary,
          "Auxiliary functions, if the integrals of these orbitals come from factors; default: stored integrals")
      ->check(CLI::Range(std::int64_t{1}, max_auxiliary));
}

/// Adds the option --overwrite to a command that writes reports or traces.
void add_overwrite(CLI::App& command, bool& overwrite);

}
