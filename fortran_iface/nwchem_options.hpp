#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cxx/base/environment_settings.hpp"
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
  bool trust_input = false;                    ///< a failed witness of the input is a warning
};

/// Reads the settings of NWChem's routine or symbols. `lines`: lines `name=value` from the input (`set trifuse:name
/// value`), several values with commas between them; names are device, omega2, form, precision, target_error, memory,
/// tile_size and trust_input; the last line of a name counts. A name that begins with `trifuse` is an entry of NWChem's
/// run-time database that does not begin with `trifuse:`. Environment variables have precedence, see
/// environment_settings.hpp. Throws UsageError if a name or a value is not possible, or if the environment has a
/// setting that `door` does not follow.
Options read_options(Door door, const std::string& lines);

/// Throws UsageError if the settings ask for something that NWChem's own CPU code would not follow: omega2 other than
/// 0, mixed precision, GPUs. Throws as read_options().
void expect_only_defaults(const std::string& lines);

/// Replaces options of the program in a sentence by settings of NWChem's input: --tile-size by trifuse:tile_size.
std::string in_words_of_input(std::string sentence);

}
