#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "cxx/calculation/calculation.hpp"
#include "tce_tiles/checks/witnesses.hpp"
#include "tce_tiles/tiles/tile_source.hpp"

namespace trifuse {

/// Times of the parts of a job besides reading operands and executing tasks, wall clock seconds.
struct RunTimes {
  double checking = 0.0;   ///< check of all numbers of the input; all ranks wait for the slowest one
  double planning = 0.0;   ///< planning, including the search for devices
  double fragments = 0.0;  ///< all runs of fragments; 0 without fragments
  double whole = 0.0;      ///< from the opening of the input to the energies
};

/// Describes the input: file, program, reference and orbitals.
std::string describe_source(const TileSource& source);
/// Describes the CCSD energies. `correlation`: CCSD correlation energy in hartree, if it is known. Empty if no energy
/// is known.
std::string describe_ccsd(const SourceInfo& info, std::optional<double> correlation);
/// Returns the total CCSD energy, hartree. `correlation`: CCSD correlation energy in hartree; if it is not known, the
/// one that the input states is used. Returns nullopt if a part of the sum is not known or if the amplitudes are not
/// CCSD amplitudes.
std::optional<double> total_ccsd_energy(const SourceInfo& info, std::optional<double> correlation);
/// Describes the plan, the devices and the memory.
std::string describe_plan(const Calculation& calculation);
/// Returns one line with advice if OpenBLAS does not know this processor and uses slow kernels; else empty. The program
/// `trifuse` restarts itself with better kernels, but the library cannot.
std::string describe_slow_blas();
/// Describes the energies, in hartree, and the times. `correlation`: see `describe_ccsd`.
std::string describe_result(const Calculation& calculation, const CalculationResult& result, const RunTimes& times,
                            const SourceInfo& info, std::optional<double> correlation);

/// Returns the report of `trifuse run` as JSON, see drivers/docs/report.schema.json. `right`: the right amplitudes;
/// `left`: the left amplitudes, or null. `right_check`, `left_check`: results of their checks; `left_check` is null
/// without left amplitudes.
nlohmann::ordered_json json_report(const Calculation& calculation, const CalculationResult& result,
                                   const RunTimes& times, const TileSource& right, const TileSource* left,
                                   const CheckReport& right_check, const CheckReport* left_check);
/// Returns the text of a report: `content` after the members that all reports begin with. `command`: the name of the
/// report, e.g. "run". The text has only ASCII characters and ends with a line feed.
std::string report_text(const std::string& command, const nlohmann::ordered_json& content);
/// Parts of the JSON reports.
nlohmann::ordered_json json_plan(const Calculation& calculation);
nlohmann::ordered_json json_source(const TileSource& source);
nlohmann::ordered_json json_machine();

}
