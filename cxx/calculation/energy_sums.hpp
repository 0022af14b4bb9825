#pragma once

#include <span>
#include <vector>

#include "cxx/calculation/calculation.hpp"
#include "cxx/plan/plan.hpp"
#include "cxx/triples/problem.hpp"

namespace trifuse {

/// Returns the sums of the energies of all tasks for each omega2. `energies`: [task, omega2], hartree.
std::vector<TriplesEnergy> sum_energies(const Problem& problem, const Plan& plan, std::span<const TaskEnergy> energies);

}
