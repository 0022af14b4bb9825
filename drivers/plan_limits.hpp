#pragma once

#include <nlohmann/json.hpp>

#include "cxx/plan/plan.hpp"
#include "cxx/prediction/prediction.hpp"

/// What keeps `trifuse plan` within about a minute and some gigabytes, whatever it is asked for.
namespace trifuse::cli {

/// Throws UsageError where a plan has more tasks than a prediction can list, or so many numbers that they cannot be
/// counted.
void require_predictable(const TileSpace& tiles, SpinFormulation formulation);

/// What is left of the work that one command may do. The answer depends on the job alone, never on a clock, so the same
/// command prints the same on every machine.
class PlanBudget {
 public:
  /// Takes the work of simulating these jobs with this plan, or nothing where that is more than is left.
  bool take(const Plan& plan, const std::vector<JobShape>& jobs);

 private:
  /// Tasks that may be simulated, some microseconds each.
  double left_ = 1e7;
};

/// Throws UsageError where a number of a report is not finite.
void require_finite(const nlohmann::ordered_json& report);

}  // namespace trifuse::cli
