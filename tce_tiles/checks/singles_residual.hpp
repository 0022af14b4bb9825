#pragma once

#include <cstdint>

#pragma GCC visibility push(default)

namespace trifuse {

/// The deviation of amplitudes and integrals from the CCSD equation of the single excitations.
///
/// q_ia = |R_ia / D_i^a| with D_i^a = f_ii - f_aa - omega2 is the change of t_ia in the next iteration. R is the
/// residual of singles_equation.hpp.
struct SinglesResidual {
  bool complete = true;       ///< false if the integrals oovv, and so their term, are missing
  bool singles = false;       ///< true if some t1 is not zero
  double step = 0.0;          ///< largest q
  int spin = 0;               ///< spin of the largest q: 0 alpha, 1 beta
  std::int64_t i = 0, a = 0;  ///< indices of the largest q: occupied and virtual orbital, from 0 in their class
  /// Largest q of all occupied orbitals except `i` (rows) and of all virtual orbitals except `a` (columns). A wrong
  /// integral (ia|bb) changes one column, a wrong (ia|jj) one row.
  double other_rows = 0.0, other_columns = 0.0;
  /// Number of elements of t1 above 1e-4 of the largest one. If this number is small, rows and columns prove nothing.
  std::int64_t elements = 0;
  /// The component of R along t1, and the length of the rest of R. Both are divided by the length of t1; hartree.
  double along_t1 = 0.0, across_t1 = 0.0;
};

}

#pragma GCC visibility pop
