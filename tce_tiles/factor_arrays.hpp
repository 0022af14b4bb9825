#pragma once

#include "tce_tiles/dump_layout.hpp"

/// Integrals from factors (density fitting, Cholesky): (pq|rs) = sum_Q B[Q,p,q] B[Q,r,s]. See
/// tce_tiles/docs/dump-format.md.
namespace trifuse {

/// If the input has factors, replaces its arrays by arrays that also have the integral arrays ovvv, ovoo, ovov and
/// oovv, whose elements are computed from the factors when they are read, and sets `factor_source`. The factors are
/// read now, and stay in memory: naux (o(o+1)/2 + ov + v(v+1)/2) doubles for each spin.
///
/// Throws InputError if only some factors are present, if a factor has a wrong shape, holds a value that is not finite
/// or is not symmetric, or if there are also stored integrals.
void use_factors(DenseInput& input);

}  // namespace trifuse
