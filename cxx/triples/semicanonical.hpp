#pragma once

#include <memory>

#include "tce_tiles/tile_source.hpp"

namespace trifuse {

/// Amplitudes and integrals in semicanonical orbitals: the occupied and the virtual block of each spin's Fock matrix
/// are diagonalised irrep by irrep, orbital energies are the eigenvalues, and T1, T2, V2 and the remaining f_ov are
/// rotated. With f_ov t2 added to the disconnected triples this gives the standard ROHF-CCSD(T) (Watts, Gauss and
/// Bartlett, J. Chem. Phys. 98, 8718 (1993)).
///
/// The Fock matrix, and so the rotation, comes from `fock_source`; amplitudes are those of `source`, integrals too
/// where it has them. The result holds its blocks in memory, in tiles as large as the orbital classes. Throws
/// InputError without a Fock matrix.
std::unique_ptr<TileSource> make_semicanonical(const TileSource& source, const TileSource& fock_source);

/// Memory that this takes at its peak, bytes: the numbers before and after rotation.
double semicanonical_bytes(const TileSource& source);

}  // namespace trifuse
