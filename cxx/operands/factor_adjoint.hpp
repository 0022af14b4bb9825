#pragma once

#include <functional>
#include <span>

#include "cxx/operands/panel_layout.hpp"
#include "cxx/plan/complete_sums.hpp"

namespace trifuse {

/// Makes derivatives by slabs of factors from derivatives by panels: the adjoint of what MadePanels does. Each panel is
/// multiplied by the slabs from which it is made. No array of integrals is made.
///
/// `problem`: with factors. `layout`: PanelLayout::of_whole_panels(). `sums`: the derivatives by all panels, in the
/// linear layout. `threads`: at least 1; the bits do not depend on it. `take`: gets the derivatives by each slab from
/// which panels are made, in the unit of the sums and in the shape of the slab: factors_ov [h,p,Q], factors_oo [h,l,Q],
/// factors_vv [p,Q,d]. Several threads call it at the same time. Passes on exceptions of the factors and of the sums.
///
/// Needs memory for the factors of two particles, besides that of one slab for each thread.
void add_to_slabs(const Problem& problem, const PanelLayout& layout, const CompleteSums& sums, int threads,
                  const std::function<void(const PanelKey& slab, std::span<const double> derivatives)>& take);

}
