#pragma once

#include <chrono>

namespace trifuse {

/// Returns the time of a clock that never goes back, in seconds. Only differences of two times have a meaning.
inline double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}
