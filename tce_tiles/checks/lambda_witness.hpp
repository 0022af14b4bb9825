#pragma once

#include "tce_tiles/checks/witnesses.hpp"

namespace trifuse {

/// Adds the witness "Lambda equation" to the report of Lambda amplitudes, and a warning if they are loosely
/// converged. `integrals`: facts of the right input.
void add_lambda_witness(const Measurements& measured, const SourceInfo& amplitudes, const SourceInfo& integrals,
                        CheckReport& report);

}
