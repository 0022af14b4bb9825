#pragma once

#include "tce_tiles/tiles/tile_source.hpp"

namespace trifuse {

/// The largest absolute values of the elements of a Fock matrix that are zero for canonical Hartree-Fock orbitals,
/// hartree.
struct FockCouplings {
  double within = 0.0;   ///< off-diagonal elements f_ij and f_ab of orbitals of the same spin and irrep
  double between = 0.0;  ///< elements f_ia
  /// Orbitals with larger elements `within` are not canonical. SCF with the default thresholds of PySCF leaves at most
  /// 1.4e-6 (13 molecules, RHF and UHF); it accepts gradients of 3e-5. Localised and Kohn-Sham orbitals have 0.01 and
  /// more. In water, ignoring elements of 0.15 changes E(T) by 4e-6. So ignoring elements below this limit changes it
  /// by less than 1e-9.
  static constexpr double canonical_limit = 3e-5;
  bool canonical() const { return within <= canonical_limit; }
};

/// Reads the Fock matrix of a source. Throws InputError if orbitals are not canonical and the matrix is not symmetric.
/// Elements that are not finite count as zero here: the check of the input refuses them.
FockCouplings fock_couplings(const TileSource& source);

}
