#pragma once

#include <string>
#include <vector>

#include "cxx/calculation/calculation.hpp"

/// Plausibility of the energies of a run.
namespace trifuse {

/// Returns the energy with the same definition as the one that the producing program printed: one-sided, omega2 = 0, in
/// the orbitals of the source. Null if this run has no such energy.
const TriplesEnergy* comparable_energy(const Problem& problem, const CalculationOptions& options,
                                       const CalculationResult& result);

/// Compares the energies with the energies that the producing program printed and with the CCSD correlation energy.
/// Returns warnings, one sentence each: a difference of 1e-9 to 1e-6 hartree from the printed energies, or a triples
/// correction larger than the CCSD correlation energy. Throws InputError for a larger difference from the printed
/// energies; with the option `trust_input` this is a warning, too.
std::vector<std::string> check_result(const Problem& problem, const CalculationOptions& options,
                                      const CalculationResult& result);

}
