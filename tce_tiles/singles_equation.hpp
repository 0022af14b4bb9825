#pragma once

#include <array>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "cxx/base/joint_buffer.hpp"
#include "tce_tiles/dump_boxes.hpp"
#include "tce_tiles/dump_layout.hpp"
#include "tce_tiles/singles_residual.hpp"

/// The CCSD equation of the single excitations, as a test of a whole input.
///
/// Converged amplitudes make the residual R_i^a vanish, and every class of integrals that triples need enters it. The
/// equation is that of Stanton, Gauss, Watts and Bartlett, J. Chem. Phys. 94, 4334 (1991), equation 1, with spins
/// summed. For spins s (of i, a) and u (of the summed pair n, f) and real orbitals:
///
///   R_ia = f_ia + sum_e t_ie f_ae - sum_m t_ma f_mi + omega2 t_ia - sum_me t_ma f_me t_ie
///        + sum_u { + sum_nfe  tau_ni^fe (nf|ea)                        ovvv
///                  - sum_nfm  tau_nm^fa (nf|mi)                        ovoo
///                  - sum_e t_ie sum_mnf tau~_nm^fa (nf|me)             ovov
///                  - sum_m t_ma sum_nfe tau~_ni^fe (nf|me)             ovov
///                  + sum_nf t_ni^fa F_nf  +  sum_nf t_nf (nf|ia) }     ovov
///        - sum_nf t_nf (ni|af), n and f of spin s                      oovv
///   F_nf = f_nf + sum_u' sum_me t_me (me|nf) - sum_me t_me (mf|ne), the latter of equal spins
///
/// with tau = t2 + t1 t1 - t1 t1 and tau~ = t2 + (t1 t1 - t1 t1) / 2; the product with exchanged indices belongs to
/// equal spins. For a closed shell u is summed by taking 2 tau_ni^fe - tau_ni^ef for tau, and likewise for t2.
/// Same-spin integrals may be antisymmetrised; they then count one half where they meet antisymmetric amplitudes.
namespace trifuse {

/// Numbers of orbitals and small arrays; index 0: alpha, 1: beta, which a restricted reference leaves empty.
struct SinglesProblem {
  bool restricted = true;
  std::array<std::int64_t, 2> occupied{}, virtuals{};
  std::array<std::vector<double>, 2> t1;    ///< [o, v]
  std::array<std::vector<double>, 2> fock;  ///< [o+v, o+v], occupied orbitals first; hartree
  double omega2 = 0.0;                      ///< of regularised amplitudes, hartree
  /// Same-spin integrals that are antisymmetrised, by spin; never of a restricted reference.
  std::array<bool, 2> asym_ovvv{}, asym_ovoo{}, asym_ovov{}, asym_oovv{};
  std::array<bool, 2> has_oovv{};
};

/// Delivers the arrays for one occupied orbital n of spin `u`, with the other pair of spin `s`. Thread-safe.
class SinglesSlabs {
 public:
  virtual ~SinglesSlabs() = default;
  /// t_ni^fe as [i,f,e] for `count` orbitals i from `first` on.
  virtual void read_t2(int u, int s, std::int64_t n, std::int64_t first, std::int64_t count,
                       std::span<double> out) const = 0;
  virtual void read_ovov(int u, int s, std::int64_t n, std::span<double> out) const = 0;  ///< (nf|me) as [f,m,e]
  virtual void read_ovoo(int u, int s, std::int64_t n, std::span<double> out) const = 0;  ///< (nf|mi) as [f,m,i]
  virtual void read_oovv(int s, std::int64_t n, std::span<double> out) const = 0;         ///< (ni|af) as [i,a,f]
};

class SinglesEquation {
 public:
  /// `slabs` must outlive the equation. At most `max_cached_slabs` sets of amplitudes stay in memory between their
  /// uses.
  SinglesEquation(SinglesProblem problem, const SinglesSlabs& slabs, std::size_t max_cached_slabs);

  const SinglesProblem& problem() const { return problem_; }
  int spins() const { return problem_.restricted ? 1 : 2; }

  /// First pass: every element of ovov once. Thread-safe.
  void add_ovov(const ArraySpec& spec, const ArrayBox& box);
  /// What the first pass found, to be summed over processes that looked at parts of ovov.
  std::vector<double> first_sums() const;
  void set_first_sums(std::span<const double> sums);

  /// Second pass: the terms of ovov, ovoo and oovv for each occupied orbital n, thread-safe; about 8 o^3 v^2
  /// operations in all.
  void add_orbital(int u, int s, std::int64_t n);
  /// Second pass: every element of ovvv once; the last axis whole, thread-safe.
  void add_ovvv(const ArraySpec& spec, const ArrayBox& box);
  /// What the second pass found, to be summed likewise.
  std::vector<double> second_sums() const;
  void set_second_sums(std::span<const double> sums);

  SinglesResidual residual() const;

 private:
  using Slab = std::shared_ptr<const JointBuffer>;
  struct CachedSlab {
    int u, s;
    std::int64_t n;
    std::shared_ptr<JointBuffer> slab;
  };
  std::size_t o(int s) const { return static_cast<std::size_t>(problem_.occupied[static_cast<std::size_t>(s)]); }
  std::size_t v(int s) const { return static_cast<std::size_t>(problem_.virtuals[static_cast<std::size_t>(s)]); }
  const double* t1(int s) const { return problem_.t1[static_cast<std::size_t>(s)].data(); }
  /// How products of t1 enter: t_nf t_ie and t_ne t_if.
  std::pair<double, double> singles_weights(int u, int s) const;
  double fock(int s, std::size_t p, std::size_t q) const;
  /// tau_ni^fe as [i,f,e], spins summed for a closed shell.
  Slab tau(int u, int s, std::int64_t n);
  void make_tau(int u, int s, std::int64_t n, std::size_t first, std::size_t count, double* out) const;
  void add_to_residual(int s, const std::vector<double>& part);
  bool complete(int s) const;
  std::vector<double> whole_residual(int s) const;  ///< [o, v]

  SinglesProblem problem_;
  const SinglesSlabs& slabs_;
  std::size_t max_cached_slabs_;
  mutable std::mutex mutex_;
  std::list<CachedSlab> cache_;
  /// By spin, [o, v]: sum t_me (me|nf) of equal and of opposite spins, the whole of F_nf without f_nf, and the residual
  /// of the second pass.
  std::array<std::vector<double>, 2> coulomb_same_, coulomb_opposite_, coupling_, residual_;
};

}  // namespace trifuse
