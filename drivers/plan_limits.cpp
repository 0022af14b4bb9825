#include "drivers/plan_limits.hpp"

#include <cmath>

#include "cxx/base/error.hpp"

namespace trifuse::cli {

void require_predictable(const TileSpace& tiles, SpinFormulation formulation) {
  // A task takes about 250 bytes and about ten microseconds.
  constexpr double max_tasks = 3e6;
  require_listable(tiles, formulation, max_tasks);
}

bool PlanBudget::take(const Plan& plan, const std::vector<JobShape>& jobs) {
  // Each rank and each worker of a GPU makes one request more than it gets tasks.
  constexpr double of_gpu = 4.0, of_rank = 2.0;
  double work = 0.0;
  for (const JobShape& job : jobs) {
    work += static_cast<double>(plan.tasks.size()) + of_gpu * job.gpus + of_rank * job.ranks;
  }
  if (work > left_) return false;
  left_ -= work;
  return true;
}

void require_finite(const nlohmann::ordered_json& report) {
  if (report.is_number_float() && !std::isfinite(report.get<double>())) {
    throw UsageError("With these numbers a prediction overflows; use numbers that a machine can have.");
  }
  if (!report.is_structured()) return;
  for (const auto& part : report) require_finite(part);
}

}
