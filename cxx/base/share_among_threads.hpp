#pragma once

#include <atomic>
#include <cstddef>

#include "cxx/base/first_failure.hpp"

namespace trifuse {

/// Calls `body(n, state)` for n = 0 .. `count` - 1 on `threads` threads. Each thread has its own default-constructed
/// `State`. Calls begin in ascending order of n. After a failure no further call begins. Throws the exception that one
/// thread alone would have thrown.
template <typename State, typename Body>
void share_among_threads(std::size_t count, int threads, Body body) {
  std::atomic<std::size_t> next{0};
  FirstFailure failure;
#pragma omp parallel num_threads(threads)
  {
    State state;
    while (!failure.any()) {
      const std::size_t n = next++;
      if (n >= count) break;
      try {
        body(n, state);
      } catch (...) {
        failure.record(n);
      }
    }
  }
  failure.rethrow();
}

}  // namespace trifuse
