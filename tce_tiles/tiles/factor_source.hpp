#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "tce_tiles/tiles/tile_space.hpp"

#pragma GCC visibility push(default)

namespace trifuse {

class Communicator;

/// Consecutive orbitals of one class: numbers [begin, begin + count) in the sorted order of the class.
struct ClassOrbitals {
  OrbitalClass orbital_class;
  std::int64_t begin, count;
};

/// Returns the orbitals of a tile of `space`.
inline ClassOrbitals orbitals_of(const TileSpace& space, const Tile& tile) {
  return {tile.orbital_class, tile.offset - space[space.first(tile.orbital_class)].offset, tile.size};
}

/// Returns the orbitals of one irrep of a class.
inline ClassOrbitals orbitals_of(const TileSpace& space, OrbitalClass orbital_class, int irrep) {
  const TileSpace::Range range = space.range(orbital_class, irrep);
  return {orbital_class, range.offset - space[space.first(orbital_class)].offset, range.size};
}

/// The auxiliary functions [begin, begin + count).
struct AuxiliaryRange {
  std::int64_t begin, count;
};

/// The factors B[Q,b,c] of consecutive auxiliary functions Q and of all particles b and c of one spin.
struct FactorBand {
  std::int64_t begin, count;  ///< the auxiliary functions [begin, begin + count)
  std::int64_t particles;     ///< number of particles
  const double* planes;       ///< [count,particles,particles]
};
/// Receives bands, from several threads at the same time. A band is valid during the call.
using FactorVisitor = std::function<void(const FactorBand&)>;

/// Three-index factors of integrals, (pq|rs) = sum_Q B[Q,p,q] B[Q,r,s], from density fitting or a Cholesky
/// decomposition. In a restricted space the factors of beta orbitals are those of alpha orbitals. Any thread may call
/// any function. Arrays are in C order.
///
/// The factors of two particles are the largest ones. They are read in bands, so that no process stores all of them.
class FactorSource {
 public:
  virtual ~FactorSource() = default;
  /// Returns the number of auxiliary functions Q, at least 1.
  virtual std::int64_t auxiliary() const = 0;
  /// Reads the factors of holes into memory with all threads, unless they are there already. The factors leave the
  /// memory when the last object that this function has returned ceases to exist; a later call reads them again.
  /// Without a call of this function, the first read_oo() or read_ov() reads the factors; inside a parallel region it
  /// uses one thread. Throws Interrupted soon after `*stop` becomes true; `stop` may be null.
  virtual std::shared_ptr<const void> acquire_factors(const std::atomic<bool>* stop) const {
    static_cast<void>(stop);
    return nullptr;
  }
  /// Does what acquire_factors() does, but each rank may read only a part of the factors and get the other parts from
  /// other ranks. Collective. Throws InputError if the ranks have factors of different sizes; if one rank throws, all
  /// ranks throw. `communicator` must have shared arrays. See acquire_factors_of_ranks().
  virtual std::shared_ptr<const void> acquire_factors_together(Communicator& communicator,
                                                               const std::atomic<bool>* stop) const;
  /// Reads B[Q,i,j] of two ranges of holes of one spin into `out` [i,j,Q].
  virtual void read_oo(const ClassOrbitals& i, const ClassOrbitals& j, std::span<double> out) const = 0;
  /// Reads B[Q,h,p] of holes and particles of one spin into `out` [h,p,Q].
  virtual void read_ov(const ClassOrbitals& h, const ClassOrbitals& p, std::span<double> out) const = 0;
  /// Reads B[Q,b,c] of all particles b and c of a class once, for the auxiliary functions [begin, end). Calls `visit`
  /// for each band. `threads`: largest number of threads; the bands do not depend on it.
  virtual void visit_vv(OrbitalClass particles, std::int64_t begin, std::int64_t end, int threads,
                        const FactorVisitor& visit) const = 0;
};

}

#pragma GCC visibility pop
