#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>

#include "cxx/calculation.hpp"
#include "tce_tiles/open_source.hpp"

namespace trifuse::cli {

/// Options that say where amplitudes are; shared by all commands that read them.
struct SourceOptions {
  std::string path;
  std::string nwchem_output, nwchem_movecs;
  std::optional<std::int64_t> nwchem_tile_size, frozen_core, frozen_virtual;

  void add_to(CLI::App& command);
  std::unique_ptr<TileSource> open() const;
  /// Another set of amplitudes over the same orbitals, for the left side.
  std::unique_ptr<TileSource> open_left(const std::string& left_path) const;
};

/// Options that shape a calculation; shared by run and info.
struct CalculationFlags {
  std::string form = "auto";
  std::string rohf = "nwchem";
  std::string executor = "cpu";
  std::string memory = "2GiB";
  std::string left;
  CalculationOptions options;

  void add_to(CLI::App& command);
  CalculationOptions resolve() const;
};

}  // namespace trifuse::cli
