#pragma once

#include <cstdint>
#include <memory>

#include "tce_tiles/tiles/tile_source.hpp"

#pragma GCC visibility push(default)

namespace trifuse {

/// The sizes of a made-up molecule.
struct SyntheticMolecule {
  Reference reference = Reference::rhf;
  /// Numbers of active orbitals of each spin. A restricted reference uses the alpha numbers for both spins.
  std::int64_t occupied_alpha = 0, occupied_beta = 0;
  std::int64_t virtual_alpha = 0, virtual_beta = 0;
  int irreps = 1;  ///< 1, 2, 4 or 8
  /// Largest number of orbitals in a tile.
  std::int64_t hole_tile = 4, particle_tile = 16;
  std::uint64_t seed = 1;  ///< changes the amplitudes, not the integrals and orbital energies
  /// False: the irreps have nearly equal numbers of orbitals. True: the first irrep has twice as many as the last, and
  /// the numbers fall linearly between them. This resembles molecules, whose totally symmetric irrep is the largest.
  bool uneven = false;
  /// Number of auxiliary functions of the factors from which integrals are made (tce_tiles/docs/dump-format.md). 0:
  /// each integral is a hash.
  std::int64_t auxiliary = 0;
};

/// Makes amplitudes and integrals for benchmarks and tests. They belong to no real molecule. Each number is a hash of
/// its indices and has all symmetries of a real one. The numbers are small enough for sensible energies and the same on
/// every machine. The source computes them on request and stores none. Factors do not change the amplitudes. With
/// factors, the integrals are products of factors, as in a dump of version 2, and the arrays have zeros where irreps
/// forbid an element. Throws UsageError if the sizes are not possible.
std::unique_ptr<TileSource> make_synthetic_source(const SyntheticMolecule& molecule);
/// Makes a source as make_synthetic_source() does, but without factors, whatever `molecule.auxiliary` is. A program
/// that calls only this function contains no code for dumps, and needs no HDF5.
std::unique_ptr<TileSource> make_synthetic_blocks(const SyntheticMolecule& molecule);

}

#pragma GCC visibility pop
