#pragma once

#include <string>

#include "cxx/calculation/option_table.hpp"

namespace trifuse::nwchem {

/// Reads the settings of NWChem's routine or symbols. `lines`: lines `name=value` from the input (`set trifuse:name
/// value`), several values with commas between them; names are those of the option table for NWChem; the last line of a
/// name counts. A name that begins with `trifuse` is an entry of NWChem's run-time database that does not begin with
/// `trifuse:`. Environment variables have precedence. Throws UsageError if a name or a value is not possible, or if the
/// environment has a setting that `door` does not follow.
CalculationOptions read_options(Door door, const std::string& lines);

/// Throws UsageError if the settings ask for something that NWChem's own CPU code would not follow: omega2 other than
/// 0, mixed precision, GPUs. Throws as read_options().
void expect_only_defaults(const std::string& lines);

/// Returns true if the device is `cpu`.
bool asks_for_cores(const CalculationOptions& options);

}
