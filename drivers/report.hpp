#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "cxx/calculation/calculation.hpp"

namespace trifuse::cli {

/// What a run took besides reading operands and its tasks, seconds of the wall clock.
struct RunTimes {
  double checking = 0.0;  ///< of all numbers of the input, on the slowest rank
  double planning = 0.0;  ///< including what it takes to find the devices
  double whole = 0.0;     ///< from the opening of the input to the energies
};

/// What was computed from what, in words.
std::string describe_source(const TileSource& source);
/// `correlation`: the CCSD correlation energy, where it is known.
std::string describe_ccsd(const SourceInfo& info, std::optional<double> correlation);
/// Total energies, hartree; nothing where one of their parts is not known, or the amplitudes are others.
std::optional<double> total_ccsd_energy(const SourceInfo& info, std::optional<double> correlation);
std::string describe_plan(const Calculation& calculation);
/// What the devices did, `rate` being the operations per second of all of them together.
std::string describe_devices(const Calculation& calculation, const CudaReport& report, double rate);
std::string describe_result(const Calculation& calculation, const CalculationResult& result, const RunTimes& times,
                            const SourceInfo& info, std::optional<double> correlation);

/// The same for programs.
nlohmann::ordered_json json_report(const Calculation& calculation, const CalculationResult& result,
                                   const RunTimes& times, const TileSource& right, const TileSource* left,
                                   std::optional<double> ccsd_energy);
nlohmann::ordered_json json_devices(const Calculation& calculation, const CudaReport& report, double rate);
nlohmann::ordered_json json_plan(const Calculation& calculation);
nlohmann::ordered_json json_source(const TileSource& source);
nlohmann::ordered_json json_machine();

}  // namespace trifuse::cli
