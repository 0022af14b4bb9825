#pragma once

#include <memory>

#include "tce_tiles/checks/dense_check.hpp"
#include "tce_tiles/checks/witnesses.hpp"

namespace trifuse {

/// Appends a stage with the equation of doubles_equation.hpp to the check of an input that has arrays for dressed
/// moments. Returns `check` itself if there are none, or if the amplitudes obey no such equation. If the arrays do not
/// suffice, the measurements contain the reason. The first process evaluates the equation.
///
/// Of `share`, only part, threads and stop are used. `input` must outlive the check.
std::unique_ptr<SourceCheck> with_doubles_equation(std::unique_ptr<SourceCheck> check, const DenseInput& input,
                                                   const DenseCheck& share);

/// Adds the witness "doubles equation" to the report of an input that has arrays for dressed moments.
void add_doubles_witness(const Measurements& measured, const SourceInfo& info, CheckReport& report);

}
