#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>

#include "cxx/calculation/calculation.hpp"
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

/// Options of a calculation, shared by the commands run and info.
struct CalculationFlags {
  std::string formulation = "auto";
  std::string rohf = "nwchem";
  std::string precision = precision_names.front();
  std::string executor;
  std::string device = "auto";
  std::string memory;
  std::string left;
  CalculationOptions options;

  /// Adds the options to `command`.
  void add_to(CLI::App& command);
  /// The options of the calculation before the amplitudes are known: with `--device auto` no GPU is chosen yet. Throws
  /// UsageError if options contradict each other, or if a GPU that the user asks for cannot be used.
  CalculationOptions resolve() const;
  /// True if a large calculation gets the GPUs if there are any (`--device auto`).
  bool chooses_executor() const;
  /// The options of the calculation for these amplitudes, with the executor.
  CalculationOptions resolve(const TileSource& right) const;

 private:
  bool asks_for_cuda() const;
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

/// The bytes of an amount like 512MiB or 2GiB. Throws UsageError if `text` is not such an amount.
std::int64_t parse_memory(const std::string& text);

}
