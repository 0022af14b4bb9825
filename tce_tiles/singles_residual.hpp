#pragma once

#include <cstdint>

namespace trifuse {

/// How far amplitudes and integrals are from satisfying the CCSD equation of the single excitations.
///
/// q_ia = |R_ia / D_i^a|, D_i^a = f_ii - f_aa - omega2: by how much the next iteration would change t_ia.
struct SinglesResidual {
  bool complete = true;       ///< false: the term of oovv is missing for lack of these integrals
  bool singles = false;       ///< some t1 is not zero
  double step = 0.0;          ///< largest q
  int spin = 0;               ///< where it is
  std::int64_t i = 0, a = 0;  ///< where it is
  /// Largest q of all other occupied orbitals (rows) or of all other virtual ones (columns): the wrong integral
  /// (ia|bb) changes one column, (ia|jj) one row. Elements whose t1 counts, and so whether these say anything.
  double other_rows = 0.0, other_columns = 0.0;
  std::int64_t elements = 0;
  /// Of the residual R: its part along t1 and the length of the rest, both for a t1 of length 1; hartree.
  double along_t1 = 0.0, across_t1 = 0.0;
};

}  // namespace trifuse
