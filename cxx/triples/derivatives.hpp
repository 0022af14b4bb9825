#pragma once

#include <cstdint>

#pragma GCC visibility push(default)

namespace trifuse {

/// The derivatives of E(T) that a run computes besides its energies.
enum class Derivatives : std::uint8_t {
  none,
  amplitudes,  ///< by t1, t2, f_ov, <pp||hh>, the orbital energies and omega2
  all,         ///< also by <pp||hp> and <hp||hh>: twice the matrix products
};

}

#pragma GCC visibility pop
