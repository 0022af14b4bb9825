#pragma once

#include <cstdint>

#include "tce_tiles/dump_layout.hpp"

namespace trifuse {

/// How one pair of occupied orbitals, i and j, contributes to the CCSD correlation energy:
///   sum over a, b of [direct (ia|jb) - exchange (ib|ja)] [t_ij^ab + t_i^a t_j^b - exchanged_singles t_i^b t_j^a]
/// where (ia|jb) is what the array holds, antisymmetrised or not.
struct PairWeights {
  double direct, exchange, exchanged_singles;
};
/// `ovov`: the array of integrals.
PairWeights pair_weights(const ArraySpec& ovov, bool restricted);

/// The numbers of a pair: `t2` as [a, b] and `v2` as [a, b] with rows so far apart, t1 of i and of j.
struct PairNumbers {
  std::int64_t a_size, b_size;
  const double* t2;
  const double* v2;
  std::int64_t v2_row;
  const double* t1_i;
  const double* t1_j;
};
/// In hartree; summed in an order that depends on the sizes alone.
double pair_energy(const PairWeights& weights, const PairNumbers& numbers);

}  // namespace trifuse
