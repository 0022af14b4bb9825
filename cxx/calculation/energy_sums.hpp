#pragma once

#include <span>
#include <string>
#include <vector>

#include "cxx/calculation/calculation.hpp"
#include "cxx/calculation/state.hpp"

namespace trifuse {

/// Returns the energies that a calculation asks for: sums over all tasks. `energies`: [task, quotient], hartree.
std::vector<TriplesEnergy> sum_energies(const CalculationState& state, std::span<const TaskEnergy> energies);

/// Returns a sentence if denominators that are sums of tables come near 0 or are positive; else an empty text. To be
/// called after the tables have been made.
std::string warning_of_denominators(const CalculationState& state);

/// Mixed precision: returns the error bar of an energy of sum_energies(). `bars`: of the sums of each quotient.
Energies error_bar_of(const NamedEnergy& named, const TriplesEnergy& energy, std::span<const Energies> bars);

}
