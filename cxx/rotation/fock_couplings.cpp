#include "cxx/rotation/fock_couplings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "cxx/base/error.hpp"
#include "tce_tiles/tiles/blocks.hpp"

namespace trifuse {

namespace {

/// Largest difference of f[p,q] and f[q,p], relative to f[p,q] or to 1 hartree if that is larger.
constexpr double symmetry_tolerance = 1e-7;

}

FockCouplings fock_couplings(const TileSource& source) {
  const TileSpace& space = source.tiles();
  const auto read = [&](int g6, int g5) {
    std::vector<double> block(static_cast<std::size_t>(space[g6].size * space[g5].size));
    source.read_fock(g6, g5, block);
    return block;
  };
  FockCouplings found;
  bool symmetric = true;
  for (int x = 0; x < space.size(); ++x) {
    for (int y = 0; y <= x; ++y) {
      if (!block_exists(space, x, y)) continue;
      const std::vector<double> block = read(x, y);  // a later tile is a particle if the spaces differ
      if (space[x].space() != space[y].space()) {
        for (const double f : block) found.between = std::max(found.between, std::abs(f));
        continue;
      }
      const std::vector<double> other = x == y ? block : read(y, x);
      const auto rows = static_cast<std::size_t>(space[x].size), columns = static_cast<std::size_t>(space[y].size);
      for (std::size_t p = 0; p < rows; ++p) {
        for (std::size_t q = 0; q < columns; ++q) {
          const double f = block[p * columns + q], mirrored = other[q * rows + p];
          if (x != y || p != q) found.within = std::max(found.within, std::abs(f));
          if (std::abs(f - mirrored) > symmetry_tolerance * std::max(1.0, std::abs(f))) symmetric = false;
        }
      }
    }
  }
  if (!symmetric && !found.canonical()) {
    throw InputError(
        fmt::format("The Fock matrix of {} is not symmetric, so its orbitals cannot be rotated to semicanonical ones; "
                    "write the Fock matrix again.",
                    source.info().path));
  }
  return found;
}

}
