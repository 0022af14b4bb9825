#pragma once

#include <algorithm>
#include <cstdint>

namespace trifuse {

/// Replaces each page [f,e] of `slab` [count,v,v] by 2 page - transposed page: the sum over spins of a closed shell.
inline void sum_spins(std::int64_t count, std::int64_t v, double* slab) {
  // Small squares of f and e keep both elements of a pair in the cache.
  constexpr std::int64_t edge = 32;
  for (std::int64_t i = 0; i < count; ++i, slab += v * v) {
    for (std::int64_t f0 = 0; f0 < v; f0 += edge) {
      for (std::int64_t e0 = 0; e0 <= f0; e0 += edge) {
        for (std::int64_t f = f0; f < std::min(f0 + edge, v); ++f) {
          // On the diagonal 2 x - x is x.
          for (std::int64_t e = e0; e < std::min(e0 + edge, f); ++e) {
            const double x = slab[f * v + e], y = slab[e * v + f];
            slab[f * v + e] = 2.0 * x - y;
            slab[e * v + f] = 2.0 * y - x;
          }
        }
      }
    }
  }
}

}
