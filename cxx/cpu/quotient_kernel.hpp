#pragma once

#include <span>

#include "cxx/cpu/energy_kernel.hpp"
#include "cxx/triples/quotient.hpp"
#include "cxx/triples/task.hpp"

namespace trifuse {

/// Computes the energies of a task for any quotients. Overwrites energies[quotient], hartree. sum_energies() is faster
/// if all quotients are shifts by omega2.
void sum_quotients(const EnergyInput& input, std::span<const Quotient> quotients, std::span<TaskEnergy> energies);

}
