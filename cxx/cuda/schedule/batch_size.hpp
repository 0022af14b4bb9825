#pragma once

#include <algorithm>

namespace trifuse {

/// How many operations a worker of a GPU gets at once, where `workers` of them have these to do: a launch should take
/// tens of milliseconds, and there should be some for everybody.
inline double batch_operations(double operations, double workers) {
  constexpr double largest = 2e12, smallest = 2e10, batches_per_worker = 8.0;
  return std::clamp(operations / (batches_per_worker * workers), smallest, largest);
}

}  // namespace trifuse
