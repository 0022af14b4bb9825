#pragma once

#include <string>
#include <vector>

#include "cxx/calculation/calculation.hpp"

/// What can be said of energies when they are there.
namespace trifuse {

/// Compares the energies with those that the maker of the amplitudes printed and with the CCSD correlation energy.
/// Returns sentences for the user about what is possible but rare. Throws InputError where the maker printed other
/// energies, unless the options trust the input; that is a sentence then.
std::vector<std::string> check_result(const Calculation& calculation, const CalculationResult& result);

}  // namespace trifuse
