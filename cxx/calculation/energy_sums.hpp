#pragma once

#include <span>
#include <vector>

#include "cxx/calculation/calculation.hpp"
#include "cxx/calculation/state.hpp"

namespace trifuse {

/// Returns the energies that a calculation asks for: sums over all tasks. `energies`: [task, quotient], hartree.
std::vector<TriplesEnergy> sum_energies(const CalculationState& state, std::span<const TaskEnergy> energies);

/// Mixed precision: returns the error bar of an energy of sum_energies(). `bars`: of the sums of each quotient.
Energies error_bar_of(const NamedEnergy& named, const TriplesEnergy& energy, std::span<const Energies> bars);

}
