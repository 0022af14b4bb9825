#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "cxx/base/buffer_cache.hpp"
#include "tce_tiles/checks/checked_array.hpp"
#include "tce_tiles/checks/factor_singles.hpp"
#include "tce_tiles/checks/singles_residual.hpp"
#include "tce_tiles/dense/dense_input.hpp"
#include "tce_tiles/factors/factor_uses.hpp"

/// The CCSD equation of the single excitations, as a test of a whole input.
///
/// The residual R_i^a of converged amplitudes is zero. Every class of integrals that triples need contributes to it.
/// The equation is equation 1 of Stanton, Gauss, Watts and Bartlett, J. Chem. Phys. 94, 4334 (1991), with spins summed.
/// i and a have the spin s, the summed pair n, f has the spin u, and all orbitals are real:
///
///   R_ia = f_ia + sum_e t_ie f_ae - sum_m t_ma f_mi + omega2 t_ia - sum_me t_ma f_me t_ie
///        + sum_u { + sum_nfe  tau_ni^fe (nf|ea)                        ovvv
///                  - sum_nfm  tau_nm^fa (nf|mi)                        ovoo
///                  - sum_e t_ie sum_mnf tau~_nm^fa (nf|me)             ovov
///                  - sum_m t_ma sum_nfe tau~_ni^fe (nf|me)             ovov
///                  + sum_nf t_ni^fa F_nf  +  sum_nf t_nf (nf|ia) }     ovov
///        - sum_nf t_nf (ni|af), n and f of spin s                      oovv
///   F_nf = f_nf + sum_u' sum_me t_me (me|nf) - sum_me t_me (mf|ne), the last term for equal spins only
///
/// with tau = t2 + t1 t1 - t1 t1 and tau~ = t2 + (t1 t1 - t1 t1) / 2. The second product, with exchanged indices,
/// occurs for equal spins only. For a closed shell, the sum over u is taken by using 2 tau_ni^fe - tau_ni^ef for tau,
/// and the same for t2. Same-spin integrals may be antisymmetrised. Their products with antisymmetric amplitudes then
/// have the factor 1/2.
namespace trifuse {

/// The numbers of orbitals and the small arrays of an input. Element 0 of each array is for alpha, element 1 for beta.
/// A restricted reference leaves element 1 empty.
struct SinglesProblem {
  bool restricted = true;
  std::array<std::int64_t, 2> occupied{}, virtuals{};  ///< numbers of orbitals
  std::array<std::vector<double>, 2> t1;               ///< t1[i,a], shape [o,v]
  std::array<std::vector<double>, 2> fock;             ///< f[p,q], shape [o+v,o+v], occupied orbitals first; hartree
  double omega2 = 0.0;                                 ///< the parameter of regularised amplitudes, hartree; else 0
  /// True if the same-spin integrals of a class are antisymmetrised. Always false for a restricted reference.
  std::array<bool, 2> asym_ovvv{}, asym_ovoo{}, asym_ovov{}, asym_oovv{};
  std::array<bool, 2> has_oovv{};  ///< true if the integrals (ni|af) are available

  /// Returns true if the equation of spin s has its term of oovv.
  bool has_exchange(std::size_t s) const {
    // Plain (ni|af) needs plain (nf|ia), which antisymmetrised ovov does not contain.
    return has_oovv[s] && (asym_oovv[s] || !asym_ovov[s]);
  }
};

/// Delivers slabs: the parts of the large arrays that belong to one occupied orbital n of spin `u`. The other pair of
/// indices has the spin `s`. Spins are 0 for alpha and 1 for beta; orbitals are numbered from 0 in their class. `out`
/// must have as many elements as the slab. Integrals are in hartree. Implementations are thread-safe.
class SinglesSlabs {
 public:
  virtual ~SinglesSlabs() = default;
  /// Reads t_ni^fe as out[i,f,e] for `count` orbitals i from `first` on.
  virtual void read_t2(int u, int s, std::int64_t n, std::int64_t first, std::int64_t count,
                       std::span<double> out) const = 0;
  virtual void read_ovov(int u, int s, std::int64_t n, std::span<double> out) const = 0;  ///< (nf|me) as out[f,m,e]
  virtual void read_ovoo(int u, int s, std::int64_t n, std::span<double> out) const = 0;  ///< (nf|mi) as out[f,m,i]
  virtual void read_oovv(int s, std::int64_t n, std::span<double> out) const = 0;         ///< (ni|af) as out[i,a,f]
};

/// Evaluates the equation in two passes over the input. Order of calls:
///   1. add_ovov for all of ovov; with several processes, sum `first_sums` over them and pass it to `set_first_sums`
///   2. add_orbital for all n, and add_ovvv for all of ovvv; with factors instead of ovvv, afterwards factor_uses and
///      add_factors; sum `second_sums` in the same way
///   3. residual()
/// The add functions are thread-safe.
class SinglesEquation {
 public:
  /// `slabs` must outlive the equation. The equation keeps at most `max_cached_slabs` slabs of amplitudes in memory for
  /// a later use, and at least one.
  SinglesEquation(SinglesProblem problem, const SinglesSlabs& slabs, std::size_t max_cached_slabs);

  /// Makes the equation keep at least this many slabs. Call it before the passes.
  void cache_slabs(std::size_t slabs) { amplitudes_.keep_at_least(slabs); }

  /// Takes the terms of ovvv and oovv from factors: add_ovvv is not called. Call it before the passes. `factors` must
  /// outlive the equation.
  void use_factors(const FactorSource& factors) { factors_.emplace(factors, problem_.occupied, problem_.virtuals); }

  const SinglesProblem& problem() const { return problem_; }
  /// Returns the number of spins that the arrays distinguish: 1 for a restricted reference, else 2.
  int spins() const { return problem_.restricted ? 1 : 2; }

  /// Adds the terms of a box of ovov, in the first pass. Every element of ovov must be in exactly one box.
  void add_ovov(const ArraySpec& spec, const ArrayBox& box);
  /// Returns the result of the first pass. If several processes pass over parts of ovov, the caller sums it over them.
  std::vector<double> first_sums() const;
  /// Replaces the result of the first pass by `sums`, which has the length of `first_sums`.
  void set_first_sums(std::span<const double> sums);

  /// Adds the terms of ovov, ovoo and oovv for the occupied orbital n of spin u, in the second pass. Must be called for
  /// all n, u and s. All calls together take about 8 o^3 v^2 operations.
  void add_orbital(int u, int s, std::int64_t n);
  /// Adds the terms of a box of ovvv, in the second pass. Every element of ovvv must be in exactly one box. A box must
  /// hold the whole last axis.
  void add_ovvv(const ArraySpec& spec, const ArrayBox& box);
  /// Gives each rank an equal part of the work with factors of two particles, see FactorSingles::share(). Call it after
  /// add_orbital. Without this call each rank needs all of these factors. Does nothing if factors are not used.
  void share_factors(Communicator& communicator, std::int64_t buffer_bytes, const std::atomic<bool>* stop) {
    if (factors_) factors_->share(communicator, buffer_bytes, stop);
  }
  /// Returns the uses of the factors of two particles; none if factors are not used. Call it after add_orbital, and
  /// visit all of them before add_factors.
  std::vector<FactorUse> factor_uses();
  /// Adds the terms of ovvv and oovv of all orbitals of add_orbital if factors are used, in the second pass.
  void add_factors();
  /// Returns the number of bytes that one thread needs for factors.
  std::int64_t thread_bytes() const { return factors_ ? factors_->thread_bytes() : 0; }
  /// Returns the result of the second pass, to be summed over processes as `first_sums` is.
  std::vector<double> second_sums() const;
  /// Replaces the result of the second pass by `sums`.
  void set_second_sums(std::span<const double> sums);

  /// Returns the residual, after both passes.
  SinglesResidual residual() const;

 private:
  std::size_t o(int s) const { return static_cast<std::size_t>(problem_.occupied[static_cast<std::size_t>(s)]); }
  std::size_t v(int s) const { return static_cast<std::size_t>(problem_.virtuals[static_cast<std::size_t>(s)]); }
  const double* t1(int s) const { return problem_.t1[static_cast<std::size_t>(s)].data(); }
  /// Returns the numbers by which t_nf t_ie and t_ne t_if are multiplied in tau.
  std::pair<double, double> singles_weights(int u, int s) const;
  double fock(int s, std::size_t p, std::size_t q) const;
  /// Returns tau_ni^fe as [i,f,e] from the cache, for all i. For a closed shell, spins are summed.
  BufferCache::Use tau(int u, int s, std::int64_t n);
  /// Computes a part of that array: the orbitals i from `first` on, as many as `out` has room for.
  void make_tau(int u, int s, std::int64_t n, std::size_t first, std::span<double> out) const;
  void add_to_residual(int s, const std::vector<double>& part);
  /// Adds - sum_f t_nf (ni|af) to `part` [o,v], or to the sums of factors. `memory` has room for a slab of oovv, unless
  /// factors are used.
  void add_exchange(int s, std::int64_t orbital, Buffer& memory, std::vector<double>& part);
  bool has_exchange(int s) const { return problem_.has_exchange(static_cast<std::size_t>(s)); }
  /// Returns true if the equation of spin s lacks no term: it has the term of oovv, or t1, which this term contains, is
  /// zero.
  bool complete(int s) const;
  std::vector<double> whole_residual(int s) const;  ///< R[i,a], shape [o,v], hartree

  SinglesProblem problem_;
  const SinglesSlabs& slabs_;
  BufferCache amplitudes_;  ///< tau
  mutable std::mutex mutex_;
  std::optional<FactorSingles> factors_;
  /// Arrays by spin, of shape [o,v]: sum t_me (me|nf) over equal spins, this sum over opposite spins, F_nf - f_nf, and
  /// the residual of the second pass.
  std::array<std::vector<double>, 2> coulomb_same_, coulomb_opposite_, coupling_, residual_;
};

}
