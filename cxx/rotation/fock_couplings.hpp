#pragma once

#include "tce_tiles/tiles/tile_source.hpp"

namespace trifuse {

/// The elements of a Fock matrix that are zero for canonical Hartree-Fock orbitals, largest absolute values in hartree.
struct FockCouplings {
  double within = 0.0;   ///< off-diagonal elements f_ij and f_ab, in which both orbitals have the same spin and irrep
  double between = 0.0;  ///< f_ia
  /// Orbitals with larger elements `within` are not canonical. SCF with the default thresholds of PySCF leaves at most
  /// 1.4e-6 (13 molecules, RHF and UHF); it accepts gradients of 3e-5. Localised and Kohn-Sham orbitals have 0.01 and
  /// more. In water, elements of 0.15 that are ignored change E(T) by 4e-6, so smaller ones change it by less than
  /// 1e-9.
  static constexpr double canonical_limit = 3e-5;
  bool canonical() const { return within <= canonical_limit; }
};

/// Reads the Fock matrix of a source. Throws InputError if orbitals are not canonical and the matrix is not symmetric.
/// Elements that are not finite count as zero: the check of an input refuses them.
FockCouplings fock_couplings(const TileSource& source);

}
