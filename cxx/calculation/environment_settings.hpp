#pragma once

#include <string>
#include <vector>

#include "cxx/calculation/option_table.hpp"

namespace trifuse {

/// Throws UsageError if a variable of the environment sets something that this door does not follow, or if its name
/// resembles the name of a setting. Other variables TRIFUSE_... are not looked at: scripts and modules use such names.
/// The option table says which variables set something.
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
