#pragma once

#include "cxx/contraction/cpu_plan.hpp"

namespace trifuse::contraction {

/// Returns the cores of this machine, at most 64.
double machine_cores();
/// Predicts the time of a plan whose orders, blocks and packing are set, s. Where a part of the time is not below
/// `limit`, s, returns that part.
double seconds_of_blocks(const CpuPlan& plan, double limit);
/// Predicts the time of a plan with `loops`, s.
double seconds_of_loops(const CpuPlan& plan);

}
