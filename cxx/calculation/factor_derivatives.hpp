#pragma once

#include <map>
#include <string>

#include "cxx/operands/panel_layout.hpp"
#include "cxx/plan/complete_sums.hpp"
#include "cxx/triples/problem.hpp"
#include "tce_tiles/dense/dense_adjoint.hpp"

namespace trifuse {

/// Makes the derivatives by the factors of a problem from the sums of the tasks: arrays [naux,p,q] by their names.
/// Those by factors of two holes or two particles are symmetric in p and q. `layout`: the panels of the sums. `sums`:
/// those by operands, see DerivativeSums. `threads`: at least 1.
std::map<std::string, DerivativeArray> derivatives_by_factors(const Problem& problem, const PanelLayout& layout,
                                                              const CompleteSums& sums, int threads);

}
