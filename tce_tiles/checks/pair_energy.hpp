#pragma once

#include <cstdint>
#include <span>

#include "tce_tiles/checks/doubles_sums.hpp"
#include "tce_tiles/dense/dense_input.hpp"

namespace trifuse {

/// The weights in the CCSD correlation energy of one pair of occupied orbitals i, j:
///   sum over a, b of [direct (ia|jb) - exchange (ib|ja)] [t_ij^ab + t_i^a t_j^b - exchanged_singles t_i^b t_j^a]
/// (ia|jb) is the element of the array, which may be antisymmetrised.
struct PairWeights {
  double direct, exchange, exchanged_singles;
};
/// Returns the weights for an array `ovov` of integrals.
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
/// Returns the energy of the pair, in hartree. The order of summation depends on the sizes only. If `weights.exchange`
/// or `weights.exchanged_singles` is not zero, a_size and b_size must be equal.
double pair_energy(const PairWeights& weights, const PairNumbers& numbers);
/// Returns sum f_ai t_i^a of one spin, in hartree. `fock`: f[p,q], shape [o+v,o+v], occupied orbitals first. `t1`:
/// t1[o,v].
double singles_energy(std::span<const double> fock, std::span<const double> t1, std::int64_t o, std::int64_t v);

/// Adds the squares of the amplitudes and integrals of a pair to `sums`. `antisymmetrise`: the integrals of equal spins
/// are (ia|jb), not antisymmetrised.
void add_squares(const PairNumbers& numbers, bool antisymmetrise, DoublesSums& sums);
/// Adds sum t D t and sum t v of a pair of opposite spins to `sums`. `e_ij`: eps_i + eps_j. `eps_a`, `eps_b`: the
/// energies of all virtual orbitals. All are in hartree.
void add_first_order(const PairNumbers& numbers, double e_ij, std::span<const double> eps_a,
                     std::span<const double> eps_b, DoublesSums& sums);

}
