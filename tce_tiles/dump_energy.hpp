#pragma once

#include <cstdint>

#include "tce_tiles/dump_layout.hpp"

namespace trifuse {

/// The weights in the CCSD correlation energy of one pair of occupied orbitals i, j:
///   sum over a, b of [direct (ia|jb) - exchange (ib|ja)] [t_ij^ab + t_i^a t_j^b - exchanged_singles t_i^b t_j^a]
/// (ia|jb) is the element of the array, which may be antisymmetrised.
struct PairWeights {
  double direct, exchange, exchanged_singles;
};
/// The weights for an array `ovov` of integrals.
PairWeights pair_weights(const ArraySpec& ovov, bool restricted);

/// The numbers of one pair i, j.
struct PairNumbers {
  std::int64_t a_size, b_size;  ///< numbers of virtual orbitals a and b
  const double* t2;             ///< t_ij^ab as t2[a,b], contiguous
  const double* v2;             ///< (ia|jb) as v2[a,b], hartree
  std::int64_t v2_row;          ///< distance of two rows of v2, in elements
  const double* t1_i;           ///< t_i^a as t1_i[a]
  const double* t1_j;           ///< t_j^b as t1_j[b]
};
/// The energy of the pair, in hartree. The order of summation depends on the sizes only. If `weights.exchange` or
/// `weights.exchanged_singles` is not zero, a_size and b_size must be equal.
double pair_energy(const PairWeights& weights, const PairNumbers& numbers);

}  // namespace trifuse
