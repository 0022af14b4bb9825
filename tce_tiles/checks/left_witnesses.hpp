#pragma once

#include "tce_tiles/checks/witnesses.hpp"

namespace trifuse {

/// Adds the witnesses of left amplitudes beside the right ones to a report, and a warning if Lambda doubles are
/// unusual. `integrals`: facts of the right input.
void add_left_witnesses(const Measurements& measured, const SourceInfo& amplitudes, const SourceInfo& integrals,
                        CheckReport& report);

}
