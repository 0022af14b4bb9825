#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cxx/moments/tensors.hpp"
#include "tce_tiles/tiles/tile_space.hpp"

/// Operands of methods with moments of CCSD: integrals that are dressed with amplitudes.
namespace trifuse::moments {

using enum Spin;
inline constexpr std::array both_spins = {alpha, beta};

/// Something for each spin.
template <typename T>
struct BySpin {
  std::array<T, 2> of{};

  T& operator[](Spin s) { return of[s == alpha ? 0 : 1]; }
  const T& operator[](Spin s) const { return of[s == alpha ? 0 : 1]; }
};
using ArrayOfSpin = BySpin<const double*>;  ///< [Spin]
using ArrayOfSpins = BySpin<ArrayOfSpin>;   ///< [Spin][Spin]: of the first pair of indices, of the second

/// Arrays in C order without gaps. i, j, k, l: holes; a, b, c, d: particles; (pq|rs): integrals, not antisymmetrised.
///
/// A closed shell has one array of each name, and only places [alpha] and [alpha][beta] are read. With two spins
/// `oooo`, `ovov`, `t2` and `vvvv_coulomb` are the same for [beta][alpha] as for [alpha][beta], which is read for both.
struct MomentInputs {
  bool closed_shell = true;
  /// With two spins: true if the integrals and kvvv of equal spins are antisymmetrised, as the asym_ arrays of a dump.
  bool antisymmetrised = false;
  BySpin<std::int64_t> holes, particles;  ///< [Spin]; of a closed shell [alpha] only
  ArrayOfSpin fock;                       ///< [p,q], holes before particles; hartree
  ArrayOfSpin t1;                         ///< [i,a]
  ArrayOfSpins t2;                        ///< [i,j,a,b]; spins of i and j; equal spins: antisymmetric
  ArrayOfSpins oooo;                      ///< [i,j,k,l] = (ij|kl)
  ArrayOfSpins ovoo;                      ///< [i,a,j,k] = (ia|jk)
  ArrayOfSpins oovv;                      ///< [i,j,a,b] = (ij|ab)
  ArrayOfSpins ovov;                      ///< [i,a,j,b] = (ia|jb)
  ArrayOfSpins ovvv;                      ///< [i,a,b,c] = (ia|bc)
  ArrayOfSpins kvvv;                      ///< [k,c,b,d] = sum_e t1[k,e] (ce|bd); for right operands only
  ArrayOfSpins vvvv_coulomb;              ///< [a,b] = (aa|bb); for tables only
  ArrayOfSpin vvvv_exchange;              ///< [a,b] = (ab|ab); for tables only
};

/// Makes operands of one side from the arrays of an input, which must outlive it. Each function for v, o or a table
/// adds up the formula in the memory of the result.
///
/// `s`, `t`: spins of the first and of the second pair of indices. A closed shell has alpha, beta only. Results of
/// equal spins are antisymmetrised: v[k,c,b,d] in c, b and o[i,a,j,l] in i, j. The last index of v and of o is the
/// contracted one. Dressed arrays are not symmetric in it and the index before.
///
/// Work memory, in numbers, with o holes and v particles: 2 o^2 v^2 (a closed shell), o^3 v (4 o^3 v with two spins)
/// after the first right operand, and in each call at most the larger one of 2 o^2 v^2 and o^2 v^2 + o^4. There is no
/// work array of the size of v.
///
/// All functions throw std::bad_alloc, and what contractions throw: on cores SystemError.
class MomentOperands {
 public:
  /// `threads`: at least 1. `contract` computes all contractions, e.g. the large ones on GPUs.
  MomentOperands(const MomentInputs& inputs, int threads, Contract contract);
  /// Computes on the cores of this machine.
  MomentOperands(const MomentInputs& inputs, int threads)
      : MomentOperands(inputs, threads, contract_on_cores(threads)) {}

  /// Writes F[i,a] = f_ia + sum over the mean field of t1.
  void hbar_fov(Spin s, double* f) const;
  /// Returns the same.
  OwnedArray fov(Spin s) const;

  /// Writes v[k,c,b,d], the part of the moments of CCSD that t2 is multiplied by. `v` may be the array `kvvv` of these
  /// spins, which is then overwritten.
  void right_ovvv(Spin s, Spin t, double* v);
  /// Writes o[i,a,j,l], the same for a contracted hole, with F t2.
  void right_ovoo(Spin s, Spin t, double* o);

  /// Writes v[k,c,b,d], which Lambda2 is multiplied by. `v` must not be an array of the input.
  void left_ovvv(Spin s, Spin t, double* v) const;
  /// Writes o[i,a,j,l], the same for a contracted hole.
  void left_ovoo(Spin s, Spin t, double* o) const;

  /// Writes c2[i,j,a,b], in the place of v2 in a set whose other tensor is t1: then S = t1 t2 + t1^3 / 6, the triples
  /// of exp(T1 + T2). Spins of i and j; equal spins: antisymmetric.
  void c2(Spin s, Spin t, double* c) const;
  /// Returns <exp(T1 + T2)> projected on itself in singles and doubles: the overlap of the denominators of CR-CCSD(T)
  /// without 1 and without triples.
  double overlap() const;

 private:
  friend class DenominatorTables;

  /// Amplitudes x[k,l,c,e] of the pair l, e, which has the spin `spin`.
  struct Ring {
    ArrayView x;
    Spin spin;
  };
  using Blocks = const ArrayOfSpins MomentInputs::*;

  std::int64_t holes(Spin s) const { return in_.holes[place(s)]; }
  std::int64_t particles(Spin s) const { return in_.particles[place(s)]; }
  Spin place(Spin s) const { return in_.closed_shell ? alpha : s; }
  const double* block(Blocks blocks, Spin s, Spin t) const;
  /// A block of an array that is the same after an exchange of both spins and of axes: axis n becomes exchange[n].
  ArrayView symmetric(Blocks blocks, Spin s, Spin t, std::vector<std::int64_t> shape,
                      const std::vector<std::size_t>& exchange) const;
  std::vector<std::int64_t> shape_oooo(Spin s, Spin t) const { return {holes(s), holes(s), holes(t), holes(t)}; }
  std::vector<std::int64_t> shape_ovoo(Spin s, Spin t) const { return {holes(s), particles(s), holes(t), holes(t)}; }
  std::vector<std::int64_t> shape_oovv(Spin s, Spin t) const {
    return {holes(s), holes(s), particles(t), particles(t)};
  }
  std::vector<std::int64_t> shape_ovov(Spin s, Spin t) const {
    return {holes(s), particles(s), holes(t), particles(t)};
  }
  std::vector<std::int64_t> shape_ovvv(Spin s, Spin t) const {
    return {holes(s), particles(s), particles(t), particles(t)};
  }
  std::vector<std::int64_t> shape_vv(Spin s, Spin t) const { return {particles(s), particles(t)}; }
  std::vector<std::int64_t> shape_t2(Spin s, Spin t) const { return {holes(s), holes(t), particles(s), particles(t)}; }

  ArrayView fock(Spin s) const;
  ArrayView t1(Spin s) const { return {in_.t1[place(s)], {holes(s), particles(s)}}; }
  ArrayView t2(Spin s, Spin t) const;
  ArrayView oooo(Spin s, Spin t) const;
  ArrayView ovoo(Spin s, Spin t) const { return {block(&MomentInputs::ovoo, s, t), shape_ovoo(s, t)}; }
  ArrayView oovv(Spin s, Spin t) const { return {block(&MomentInputs::oovv, s, t), shape_oovv(s, t)}; }
  ArrayView ovov(Spin s, Spin t) const;
  ArrayView ovvv(Spin s, Spin t) const { return {block(&MomentInputs::ovvv, s, t), shape_ovvv(s, t)}; }
  /// [l,j,m,d] = (lj|md) + t_j^e (le|md); l, j of spin s.
  ArrayView ooov(Spin s, Spin t);
  /// The amplitudes of the terms in which the pair l, e has direct integrals; s: spin of k, c.
  std::vector<Ring> rings(Spin s) const;
  /// (kc|md) as [k,c,m,d], of which an antisymmetrised array has c and m exchanged, not c and d as that of ovov().
  struct Signed {
    double factor;
    ArrayView x;
  };
  Signed mixed_ovov(Spin s, Spin t) const;
  /// Factor of integrals of equal spins in a sum that is antisymmetrised afterwards.
  double own(Spin s, Spin t) const { return s == t && in_.antisymmetrised ? 0.5 : 1.0; }
  /// factor t2[i,j,a,b] + t1[i,a] t1[j,b].
  OwnedArray tau(Spin s, Spin t, double factor) const;

  MomentInputs in_;
  Terms terms_;
  OwnedArray same_, u_;              ///< of a closed shell: t2[i,j,a,b] - t2[i,j,b,a], and the same with 2 t2
  BySpin<BySpin<OwnedArray>> ooov_;  ///< without memory before they are needed
};

}
