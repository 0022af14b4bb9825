#pragma once

#include <nlohmann/json.hpp>

#include "cxx/plan/plan.hpp"
#include "cxx/prediction/prediction.hpp"

/// Limits that keep `trifuse plan` within about a minute and some gigabytes, whatever job the user asks for.
namespace trifuse::cli {

/// Throws UsageError if a plan has more tasks than a prediction can list, or if it would take too long to list them.
void require_predictable(const TileSpace& tiles, SpinFormulation formulation);

/// The work that one command may still do. It depends only on the job and not on a clock, so the same command prints
/// the same on every machine.
class PlanBudget {
 public:
  /// Subtracts the work of simulating these jobs with this plan. Returns false and subtracts nothing if less work is
  /// left.
  bool take(const Plan& plan, const std::vector<JobShape>& jobs);

 private:
  /// Number of tasks that may still be simulated. One task takes some microseconds.
  double left_ = 1e7;
};

/// Throws UsageError if a number in a report is not finite.
void require_finite(const nlohmann::ordered_json& report);

}
