#pragma once

#include "cxx/contraction/description.hpp"

namespace trifuse::contraction {

/// Computes a contraction by one loop for each index. Slow; executors are compared with it.
///
/// `a`, `b`, `c`: the elements at offset 0. C must not share memory with A and B. C is not read if `beta` is 0; A and B
/// are not read if `alpha` is 0.
void contract_by_loops(const Contraction& contraction, double alpha, const double* a, const double* b, double beta,
                       double* c);

}
