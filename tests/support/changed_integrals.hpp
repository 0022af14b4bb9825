#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/support/copied_sources.hpp"

/// Sources whose integrals are not those of a molecule, as integrals that are dressed with amplitudes.
namespace trifuse::testing {

/// Returns a copy of `source` with change(orbitals, value) for the integrals with one or three particles; `orbitals`:
/// of the four indices of v2.
template <typename Change>
MemorySource with_changed_integrals(const TileSource& source, Change change) {
  MemorySource copy = copy_of(source);
  const TileSpace& space = copy.tiles();
  std::vector<double> block;
  for (const Block& b : copy.v2_index().blocks()) {
    const auto& t = b.tiles;
    const auto particles = std::count_if(t.begin(), t.end(), [&](int tile) { return tile >= space.hole_tiles(); });
    if (particles == 2) continue;
    block.resize(static_cast<std::size_t>(b.size));
    copy.read_v2(t[0], t[1], t[2], t[3], block);
    for (std::int64_t n = 0; n < b.size; ++n) {
      std::array<std::int64_t, 4> orbitals{};
      std::int64_t rest = n;
      for (std::size_t d = 4; d-- > 0; rest /= space[t[d]].size) {
        orbitals[d] = space[t[d]].offset + rest % space[t[d]].size;
      }
      double& value = block[static_cast<std::size_t>(n)];
      value = change(orbitals, value);
    }
    copy.set_v2(t[0], t[1], t[2], t[3], block);
  }
  return copy;
}

/// A factor for v2[p,q,r,s] that keeps the antisymmetry in p, q and in r, s, but no symmetry between q and s.
inline double factor_without_symmetry(const std::array<std::int64_t, 4>& orbitals, double value) {
  const auto [p, q, r, s] = orbitals;
  const auto pair = [](std::int64_t x, std::int64_t y) { return std::max(x, y) * 64 + std::min(x, y); };
  return value * (1.0 + 0.5 * std::sin(static_cast<double>(pair(p, q) + 3 * pair(r, s))));
}

}
