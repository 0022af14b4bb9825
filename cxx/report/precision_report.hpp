#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "cxx/calculation/calculation.hpp"

namespace trifuse {

/// Energies as JSON, hartree.
nlohmann::ordered_json json_energies(const Energies& energies);

/// Returns one line for each omega2 of a run in mixed precision: the energy with its error bar, and how many tasks were
/// computed in double precision. Returns an empty text for a run in double precision.
std::string describe_precision(const Calculation& calculation, const CalculationResult& result);

/// Returns a sentence for a run in double precision on GPUs that are slow in it: how much time mixed precision would
/// take. Returns an empty text for other runs.
std::string precision_advice(const Calculation& calculation);

/// Describes the times and rates of the two parts of a run in mixed precision: all tasks, and the sample in double
/// precision. Empty for a run in double precision.
std::string describe_sample(const CalculationResult& result);

/// Adds the members on precision to the report of a run. `report` has the members `energies`, `settings` and `tasks`.
void add_precision(const Calculation& calculation, const CalculationResult& result, nlohmann::ordered_json& report);

}
