#pragma once

#include "cxx/moments/moment_operands.hpp"
#include "cxx/moments/tensors.hpp"
#include "cxx/triples/task.hpp"
#include "cxx/triples/triple_denominators.hpp"

namespace trifuse::moments {

/// The diagonals of the similarity-transformed Hamiltonian from which the denominators of CR-CC(2,3) are added up:
///
///     x = sum_i o[i] - sum_a v[a]                                                 (B)
///         - sum_9 ov[i,a] - sum_3 oo[i,j] - sum_3 vv[a,b]                         (+ C)
///         + sum_9 oov[i,j,a] - sum_9 ovv[i,a,b]                                   (+ D)
///
/// Hartree. The spins of the indices are in brackets below. A closed shell has s = alpha only: t = alpha for equal
/// spins, t = beta for opposite spins. Two holes of one spin with a particle of the other have oov = 0; likewise two
/// particles of one spin with a hole of the other and ovv.
class DenominatorTables {
 public:
  /// Makes all tables: at most about o^2 v^2 operations. Throws std::bad_alloc and SystemError.
  explicit DenominatorTables(const MomentOperands& operands);

  ArrayView o(Spin s) const { return o_[s].view(); }                 ///< [i(s)]
  ArrayView v(Spin s) const { return v_[s].view(); }                 ///< [a(s)]
  ArrayView oo(Spin s, Spin t) const { return oo_[s][t].view(); }    ///< [i(s),j(t)]
  ArrayView vv(Spin s, Spin t) const { return vv_[s][t].view(); }    ///< [a(s),b(t)]
  ArrayView ov(Spin s, Spin t) const { return ov_[s][t].view(); }    ///< [i(s),a(t)]
  ArrayView oov(Spin s, Spin t) const { return oov_[s][t].view(); }  ///< [i(s),j(t),a(s)]
  ArrayView ovv(Spin s, Spin t) const { return ovv_[s][t].view(); }  ///< [i(s),a(s),b(t)]

  /// Returns the tables over the orbitals of a tile space of the input. Its sorted order is alpha before beta, and for
  /// each spin the order of the input's arrays. Throws std::logic_error for the spin-adapted formulation if the tables
  /// are not those of a closed shell.
  TripleDenominators sorted(SpinFormulation formulation) const;

 private:
  void add_one_body(const MomentOperands& in, Spin s);
  void add_pairs(const MomentOperands& in, Spin s, Spin t);
  void add_exchange(const MomentOperands& in, Spin s);
  void add_three_body(const MomentOperands& in, Spin s, Spin t);

  bool closed_shell_;
  BySpin<OwnedArray> o_, v_;
  BySpin<BySpin<OwnedArray>> oo_, vv_, ov_, oov_, ovv_;
};

}
