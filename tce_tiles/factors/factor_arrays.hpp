#pragma once

#include "tce_tiles/dense/dense_input.hpp"

/// Integrals from factors (density fitting, Cholesky): (pq|rs) = sum_Q B[Q,p,q] B[Q,r,s]. See
/// tce_tiles/docs/dump-format.md.
namespace trifuse {

/// If the input has factors, adds the integral arrays ovvv, ovoo, ovov, oovv and oooo to its arrays, and sets
/// `factor_source`. The elements of the integral arrays are computed from the factors when they are read. The first
/// read of an element takes the two factors of its array into memory, packed: naux (o(o+1)/2 + ov) doubles for each
/// spin, and naux v(v+1)/2 for ovvv and oovv. FactorSource::acquire_factors() says when they leave the memory. A read
/// of factors throws InputError if a value is not finite, or if factors are not symmetric.
///
/// Throws InputError if only some factors are present, if a factor has a wrong shape, or if there are also stored
/// integrals.
void use_factors(DenseInput& input);

}
