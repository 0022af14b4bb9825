#pragma once

#include <memory>

#include "cxx/calculation/calculation.hpp"
#include "cxx/calculation/state.hpp"
#include "cxx/operands/panel_store.hpp"
#include "cxx/parallel/run_tasks.hpp"

namespace trifuse {

/// Computes the sample of a run in mixed precision in double precision. Writes energies, error bars and strata to
/// `result`. Collective if there is a communicator.
///
/// `settings`: those of the tasks in mixed precision. `gpus_failed`: true if this rank should use GPUs and has none any
/// more. `panels`: those of this rank. `outcome`: that of the tasks in mixed precision; gets the work of the sample,
/// and loses its energies.
void compute_sample(const CalculationState& state, RunSettings settings, bool gpus_failed,
                    const std::shared_ptr<const PanelStore>& panels, RunOutcome& outcome, CalculationResult& result);

}
