#pragma once

#include <atomic>
#include <cstddef>

#include "cxx/base/first_failure.hpp"

namespace trifuse {

/// Calls `body(n, state)` for each n below `count`, begun in their order, by so many threads, each with a `State` of
/// its own. None is begun after a failure, and what is thrown is what one thread alone would have thrown.
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
