#pragma once

#include "tce_tiles/tile_source.hpp"

namespace trifuse {

/// The elements of a Fock matrix that are zero for canonical Hartree-Fock orbitals, largest absolute values in hartree.
struct FockCouplings {
  double within = 0.0;   ///< off-diagonal elements f_ij and f_ab, in which both orbitals have the same spin and irrep
  double between = 0.0;  ///< f_ia
  /// Orbitals with larger elements `within` are not canonical. A first-order estimate of the error that smaller
  /// elements cause in E(T) is 1e-9 hartree. SCF programs diagonalise the Fock matrix of the last step, so these
  /// elements vanish with the square root of the convergence of the energy: they are at most 7e-6 with the default
  /// thresholds of PySCF, and at least 1e-2 for localised, Kohn-Sham and Brueckner orbitals.
  static constexpr double canonical_limit = 1e-4;
  bool canonical() const { return within <= canonical_limit; }
};

/// Reads the Fock matrix of a source. Throws InputError if orbitals are not canonical and the matrix is not symmetric.
/// Elements that are not finite count as zero: the check of an input refuses them.
FockCouplings fock_couplings(const TileSource& source);

}  // namespace trifuse
