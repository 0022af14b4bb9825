#pragma once

#include <cstdint>

#pragma GCC visibility push(default)

namespace trifuse {

/// The deviation of Lambda amplitudes from the CCSD Lambda equation of the single excitations, see lambda_equation.hpp.
struct LambdaResidual {
  /// Largest |eta_xc| / y_c with y_c = (eps_c - highest occupied energy) / (lowest virtual - highest occupied energy).
  /// It is, up to signs, the sum over the occupied orbitals of the changes of lambda_kc in the next iteration.
  double step = 0.0;
  int spin = 0;        ///< spin of the largest value: 0 alpha, 1 beta
  std::int64_t a = 0;  ///< its virtual orbital, from 0 in its class
};

}

#pragma GCC visibility pop
