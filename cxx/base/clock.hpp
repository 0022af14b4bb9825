#pragma once

#include <chrono>

namespace trifuse {

/// Seconds of a clock that never goes back; only differences mean anything.
inline double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace trifuse
