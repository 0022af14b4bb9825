#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cxx/prediction/prediction.hpp"
#include "drivers/measured_runs.hpp"

/// A prediction in words, for programs, and drawn.
namespace trifuse::cli {

/// A job with other tiles.
struct TileSizeTrial {
  TileSizes largest;
  std::size_t tasks;
  double seconds, efficiency;
  std::optional<std::int64_t> option;  ///< of --tile-size; none: the default, or what was asked for
};

struct PlanReport {
  const TileSource& molecule;
  const Plan& plan;
  const Inspection& inspection;
  const MachineModel& machine;
  JobShape job;  ///< as asked for
  Prediction prediction;
  std::vector<Prediction> curve;                    ///< the same job on fewer GPUs, ascending, itself last
  std::vector<TileSizeTrial> sizes;                 ///< the job itself first
  std::optional<RotationPrediction> rotation = {};  ///< of a molecule that semicanonical orbitals are possible for

  /// Speed-up of a point of the curve over the first, for each GPU.
  double scaling(const Prediction& point) const;
  /// The largest point of the curve that keeps 90 % of it.
  const Prediction& largest_efficient() const;
};

std::string describe(const PlanReport& report);
std::string describe(const std::vector<ComparedRun>& runs);
nlohmann::ordered_json json_plan_report(const PlanReport& report, const std::vector<ComparedRun>& runs);
/// Drawings in SVG.
std::string draw_curve(const PlanReport& report, const std::vector<ComparedRun>& runs);
std::string draw_timeline(const PlanReport& report);

}  // namespace trifuse::cli
