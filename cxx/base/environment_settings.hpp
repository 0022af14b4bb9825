#pragma once

#include <string>
#include <vector>

namespace trifuse {

/// The environment variables that set something in a run. The table in environment_settings.cpp says which doors follow
/// them.
namespace variables {
inline constexpr const char *nwchem_device = "TRIFUSE_NWCHEM_DEVICE", *omega2 = "TRIFUSE_OMEGA2",
                            *form = "TRIFUSE_FORM", *precision = "TRIFUSE_PRECISION",
                            *target_error = "TRIFUSE_TARGET_ERROR", *tile_size = "TRIFUSE_TILE_SIZE",
                            *memory = "TRIFUSE_MEMORY", *silence_seconds = "TRIFUSE_SILENCE_SECONDS";
}

/// The ways to a calculation: a command of the program, a call of the library, NWChem's (T) in one call, the symbols of
/// NWChem's GPU objects.
enum class Door { program, library, nwchem_routine, nwchem_symbols };

/// Throws UsageError if a variable of the environment sets something that this door does not follow, or if its name
/// resembles the name of a setting. Other variables TRIFUSE_... are not looked at: scripts and modules use such names.
///
/// `command`: name of the command if the door is the program. `options`: long names of its options, without hyphens in
/// front, e.g. "tile-size". `given`: the options that the command line has. A variable with the name of such an option
/// is not looked at unless another door follows it.
void refuse_settings_of_other_doors(Door door, const std::string& command = "",
                                    const std::vector<std::string>& options = {},
                                    const std::vector<std::string>& given = {});

/// Returns TRIFUSE_SILENCE_SECONDS, the time after which a rank counts as silent: 120 if it is not set, at most 1e6. 0
/// means that no rank counts as silent. Throws UsageError if it is not a number of seconds.
double silence_seconds();

}
