#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cxx/prediction/prediction.hpp"
#include "drivers/measured_runs.hpp"

/// The report of a prediction: as text and as JSON.
namespace trifuse::cli {

/// The predicted job with other tiles.
struct TileSizeTrial {
  TileSizes largest;                   ///< largest number of orbitals in a tile
  std::size_t tasks;                   ///< number of tasks
  double seconds, efficiency;          ///< predicted time, and the efficiency of the tasks, see Simulation
  std::optional<std::int64_t> option;  ///< value of --tile-size; nullopt: the default, or the tiles of the job itself
};

/// A prediction and its context. The references must outlive the report.
struct PlanReport {
  const TileSource& molecule;
  const Plan& plan;
  const Inspection& inspection;
  const MachineModel& machine;
  Prediction prediction;
  std::vector<Prediction> curve;     ///< the same job on fewer GPUs (or ranks), ascending; the job itself is last
  std::vector<TileSizeTrial> sizes;  ///< trials of tile sizes; the job itself is first
  std::optional<RotationPrediction> rotation = {};  ///< present if semicanonical orbitals are possible or necessary
  bool rotates = false;                             ///< true: every run rotates, because the orbitals are not canonical
  std::optional<DressingPrediction> dressing = {};  ///< present if a method has moments of CCSD
  std::optional<Prediction> mixed =
      {};  ///< the job in mixed precision, if this is faster and GPUs are slow in double precision

  /// Returns the speed-up of a point of the curve relative to the first point, divided by the ratio of their numbers of
  /// GPUs (or ranks).
  double scaling(const Prediction& point) const;
  /// Returns the last point of the curve whose `scaling` is at least 0.9.
  const Prediction& largest_efficient() const;
};

/// Returns the report as text.
std::string describe(const PlanReport& report);
/// Returns a table of measured runs and their predictions.
std::string describe(const std::vector<ComparedRun>& runs);
/// Returns the report as JSON.
nlohmann::ordered_json json_plan_report(const PlanReport& report, const std::vector<ComparedRun>& runs);

}
