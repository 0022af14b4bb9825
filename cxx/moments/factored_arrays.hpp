#pragma once

#include "cxx/moments/rotated_inputs.hpp"
#include "tce_tiles/dense/dense_input.hpp"

namespace trifuse::moments {

/// Returns `input` without its factors, but with kvvv and vvvv_diag, which are made of them and of t1 when they are
/// read. Then all threads work, and the memory for some factors is added to that of the result: 512 v^2 numbers and 256
/// o v, for two spins. `input` must have factors. `semicanonical`: as of
/// arrays_of().
DenseInput with_products_of_factors(const DenseInput& input, const OrbitalsToBe& semicanonical);

}
