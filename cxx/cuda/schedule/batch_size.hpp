#pragma once

#include <algorithm>

namespace trifuse {

/// Returns how many floating-point operations a worker of a GPU gets at once. `operations`: the remaining operations of
/// the job. `workers`: number of workers that share them. A launch should take tens of milliseconds, and every worker
/// should get several launches.
inline double batch_operations(double operations, double workers) {
  constexpr double largest = 2e12, smallest = 2e10, batches_per_worker = 8.0;
  return std::clamp(operations / (batches_per_worker * workers), smallest, largest);
}

}
