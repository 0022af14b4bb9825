#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cxx/triples/task.hpp"

namespace trifuse::nwchem {

enum class Device { automatic, cpu, cuda };

/// What a user of NWChem can choose.
struct Options {
  Device device = Device::automatic;
  std::vector<double> omega2 = {0.0};  ///< hartree; NWChem gets the energies of the first
  std::optional<SpinFormulation> formulation;
  std::optional<std::int64_t> memory;  ///< bytes on each GPU
  std::optional<std::int64_t> tile_size;
};

/// From lines `name=value` of the input (`set trifuse:name value`), in which names are those of the environment in
/// small letters: device, omega2, form, memory, tile_size. The environment (TRIFUSE_NWCHEM_DEVICE, TRIFUSE_OMEGA2, ...)
/// overrules them. Throws UsageError for a name or value that is none.
Options read_options(const std::string& lines);

}  // namespace trifuse::nwchem
