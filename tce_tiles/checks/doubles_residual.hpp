#pragma once

#include <cstdint>

#pragma GCC visibility push(default)

namespace trifuse {

/// The deviation of amplitudes and integrals from the CCSD equation of the double excitations, see
/// doubles_equation.hpp.
struct DoublesResidual {
  double step = 0.0;                        ///< largest change of a t_ij^ab in the next iteration
  std::int64_t i = 0, j = 0, a = 0, b = 0;  ///< its orbitals, from 0 in their class
  int array = 0;                            ///< the amplitudes: 0 t2, 1 t2_aa, 2 t2_ab, 3 t2_bb
};

}

#pragma GCC visibility pop
