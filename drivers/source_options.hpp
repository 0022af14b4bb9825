#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>

#include "cxx/calculation/calculation.hpp"
#include "drivers/outputs.hpp"
#include "tce_tiles/open_source.hpp"

namespace trifuse::cli {

/// Options that say where amplitudes are; shared by all commands that read them.
struct SourceOptions {
  std::string path;
  std::string nwchem_output, nwchem_movecs;
  std::optional<std::int64_t> nwchem_tile_size, frozen_core, frozen_virtual;

  /// `required`: whether the command can do nothing without.
  void add_to(CLI::App& command, bool required = true);
  /// `left_path`: what `open_left` will be told, if anything. Throws UsageError for options of NWChem's files where
  /// there are none.
  std::unique_ptr<TileSource> open(const std::string& left_path = "") const;
  /// No output may replace the files that these options name. Others are known when they have been opened.
  void protect_in(Outputs& outputs) const;
  /// Another set of amplitudes over the same orbitals, for the left side.
  std::unique_ptr<TileSource> open_left(const std::string& left_path) const;

 private:
  void expect_nwchem_files(const std::string& left_path) const;
};

/// Options that shape a calculation; shared by run and info.
struct CalculationFlags {
  std::string formulation = "auto";
  std::string rohf = "nwchem";
  std::string executor;
  std::string device = "auto";
  std::string memory;
  std::string left;
  CalculationOptions options;

  void add_to(CLI::App& command);
  /// What the options say by themselves. Devices that are asked for by name are there.
  CalculationOptions resolve() const;
  /// With `--device auto` also what they say for these amplitudes: large calculations go to the GPUs if there are any.
  CalculationOptions resolve(const TileSource& right) const;

 private:
  bool asks_for_cuda() const;
};

/// The option of commands that write reports or drawings.
void add_overwrite(CLI::App& command, bool& overwrite);

/// Bytes of an amount like 512MiB or 2GiB. Throws UsageError.
std::int64_t parse_memory(const std::string& text);

}  // namespace trifuse::cli
