#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tce_tiles/tile_source.hpp"

namespace trifuse {

/// Semicanonical orbitals: those that diagonalise the Fock matrix among the orbitals of each class and irrep.
class OrbitalRotation {
 public:
  /// The orbitals of a class and irrep, which are turned into each other.
  struct Run {
    OrbitalClass orbital_class;
    int irrep;
    std::int64_t offset, size;    ///< in the sorted order
    std::vector<double> vectors;  ///< [old orbital, new orbital], the old one fastest
  };

  /// Throws InputError where the source has no Fock matrix.
  explicit OrbitalRotation(const TileSource& fock);

  std::span<const Run> runs() const& { return runs_; }
  void runs() const&& = delete;
  /// Number of the run that a tile is a part of.
  std::size_t run_of(const Tile& tile) const;
  /// The eigenvalues of all orbitals in the sorted order, hartree.
  const std::vector<double>& energies() const { return energies_; }
  /// All numbers of it, for processes that must have the same: eigenvectors may have another sign on another processor.
  std::vector<std::span<double>> numbers();

 private:
  std::vector<Run> runs_;
  std::vector<double> energies_;
};

/// to[inner, new, outer] = sum over old of from[inner, old, outer] vectors[old, new], inner fastest. The bits depend on
/// the arguments alone.
void rotate_index(const OrbitalRotation::Run& run, std::int64_t inner, std::int64_t outer, const double* from,
                  double* to);

}  // namespace trifuse
