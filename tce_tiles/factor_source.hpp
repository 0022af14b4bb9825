#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "tce_tiles/tile_space.hpp"

#pragma GCC visibility push(default)

namespace trifuse {

/// Consecutive orbitals of one class: numbers [begin, begin + count) in the sorted order of the class.
struct ClassOrbitals {
  OrbitalClass orbital_class;
  std::int64_t begin, count;
};

/// The orbitals of a tile of `space`.
inline ClassOrbitals orbitals_of(const TileSpace& space, const Tile& tile) {
  return {tile.orbital_class, tile.offset - space[space.first(tile.orbital_class)].offset, tile.size};
}

/// Three-index factors of integrals, (pq|rs) = sum_Q B[Q,p,q] B[Q,r,s], from density fitting or a Cholesky
/// decomposition. In a restricted space the factors of beta orbitals are those of alpha orbitals. Any thread may call
/// any function. Arrays are in C order.
class FactorSource {
 public:
  virtual ~FactorSource() = default;
  /// Number of auxiliary functions Q, at least 1.
  virtual std::int64_t auxiliary() const = 0;
  /// Reads the factors into memory with all threads, if they are not there. Otherwise the first call of a function
  /// below does it, and inside a parallel region on one thread. Throws Interrupted soon after `*stop` becomes true;
  /// `stop` may be null.
  virtual void load(const std::atomic<bool>* stop) const { static_cast<void>(stop); }
  /// Reads B[Q,p,d] of two ranges of particles of one spin into `out` [p,Q,d].
  virtual void read_vv(const ClassOrbitals& p, const ClassOrbitals& d, std::span<double> out) const = 0;
  /// Reads B[Q,h,p] of holes and particles of one spin into `out` [h,p,Q].
  virtual void read_ov(const ClassOrbitals& h, const ClassOrbitals& p, std::span<double> out) const = 0;
};

}  // namespace trifuse

#pragma GCC visibility pop
