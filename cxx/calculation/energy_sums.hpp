#pragma once

#include <span>
#include <vector>

#include "cxx/calculation/calculation.hpp"
#include "cxx/calculation/state.hpp"

namespace trifuse {

/// Returns the energies that a calculation asks for: sums over all tasks. `energies`: [task, quotient], hartree.
std::vector<TriplesEnergy> sum_energies(const CalculationState& state, std::span<const TaskEnergy> energies);

}
