#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cxx/triples/precision.hpp"
#include "cxx/triples/task.hpp"

namespace trifuse::nwchem {

enum class Device { automatic, cpu, cuda };

/// Settings that a user of NWChem can choose.
struct Options {
  Device device = Device::automatic;
  std::vector<double> omega2 = {0.0};          ///< hartree; NWChem gets the energies of the first value
  std::optional<SpinFormulation> formulation;  ///< nullopt: automatic
  Precision precision = Precision::fp64;       ///< `mixed` needs GPUs, unless `device` is `cpu`
  std::optional<double> target_error;          ///< error bar that mixed precision must reach, hartree
  std::optional<std::int64_t> memory;          ///< limit on each GPU, bytes; nullopt: its free memory
  std::optional<std::int64_t> tile_size;       ///< largest number of orbitals in a tile; nullopt: automatic
};

/// Reads the settings. `lines`: lines `name=value` from the input (`set trifuse:name value`); names are device, omega2,
/// form, precision, target_error, memory and tile_size; the last line of a name counts. The environment variables
/// TRIFUSE_NWCHEM_DEVICE, TRIFUSE_OMEGA2, TRIFUSE_FORM, TRIFUSE_PRECISION, TRIFUSE_TARGET_ERROR, TRIFUSE_MEMORY and
/// TRIFUSE_TILE_SIZE have precedence. Throws UsageError if a name or a value is not possible.
Options read_options(const std::string& lines);

}  // namespace trifuse::nwchem
