#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cxx/base/communicator.hpp"
#include "tce_tiles/tiles/tile_source.hpp"

namespace trifuse {

/// Semicanonical orbitals. They diagonalise the Fock matrix within each orbital range, i.e. the orbitals of one class
/// and one irrep.
class OrbitalRotation {
 public:
  /// All orbitals of one class and one irrep. A rotation mixes only orbitals of the same range.
  struct Range {
    OrbitalClass orbital_class;
    int irrep;
    std::int64_t offset, size;    ///< first orbital in the sorted order, number of orbitals
    std::vector<double> vectors;  ///< eigenvectors, [new orbital, old orbital]
  };

  /// Diagonalises the Fock matrix of `fock`. Throws InputError if the source has no Fock matrix.
  explicit OrbitalRotation(const TileSource& fock);

  std::span<const Range> ranges() const& { return ranges_; }
  void ranges() const&& = delete;
  /// Returns the number in `ranges()` of the orbital range to which a tile belongs.
  std::size_t range_of(const Tile& tile) const;
  /// Energies of all new orbitals, the eigenvalues, in the sorted order, hartree.
  const std::vector<double>& energies() const { return energies_; }
  /// Replaces energies and eigenvectors by those of the first rank: different processors may compute eigenvectors with
  /// different signs. A second call changes nothing. Collective.
  void take_those_of_first(Communicator& communicator);

 private:
  std::vector<Range> ranges_;
  std::vector<double> energies_;
};

/// Rotates one index of a tensor: to[outer,new,inner] = sum_old from[outer,old,inner] vectors[new,old].
///
/// `range`: the orbital range of the rotated index. `inner`: product of the extents of all faster indices. `outer`:
/// product of the extents of all slower indices. `to` and `from` must not overlap. The bits of the result depend only
/// on the arguments.
void rotate_index(const OrbitalRotation::Range& range, std::int64_t inner, std::int64_t outer, const double* from,
                  double* to);

}
