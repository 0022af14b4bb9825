#pragma once

#include <array>

#include "cxx/contraction/cpu_plan.hpp"

/// Products of matrices for which a call of BLAS takes longer than the product.
namespace trifuse::contraction {

/// Runs a plan with `loops`. `operands`: A and B; they, `c` and the factors as in CpuContraction::run().
void multiply_by_loops(const CpuPlan& plan, int threads, double alpha, const std::array<const double*, 2>& operands,
                       double beta, double* c);

}
