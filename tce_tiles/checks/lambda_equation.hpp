#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "tce_tiles/checks/lambda_problem.hpp"
#include "tce_tiles/checks/lambda_slabs.hpp"
#include "tce_tiles/tiles/factor_source.hpp"

/// The CCSD Lambda equation of the single excitations, as a test of Lambda amplitudes.
///
/// The derivative of the CCSD Lagrangian L = <0|(1 + Lambda) exp(-T) H exp(T)|0> with respect to each t_kc is zero. The
/// check evaluates it for all virtual orbitals c and for one combination of the occupied orbitals,
///
///   eta_xc = sum_k x_k dL/dt_kc   (x_k: LambdaProblem::combination).
///
/// So each row k of the amplitudes is tested for the cost of one row: some products of o^2 v^3 operations. The
/// derivative acts on the integrals only. They are those of exp(-T1) H exp(T1), and contain t1. Their factors B follow
/// from the factors (pq) of the input:
///
///   B_ij = (ij) + sum_e t_je (ie),  B_ab = (ab) - sum_m t_ma (mb),  B_ai = (ai) + sum_e t_ie (ae) - sum_m t_ma B_mi,
///   B_ia = (ia),                    dB_pq / dt_kc = B_pc (q = k) - B_kq (p = c).
///
/// F is the Fock matrix of these integrals. With spins summed as SinglesEquation sums them (u = 2 t - t exchanged for
/// t, mu = 2 lambda - lambda exchanged where a term has two particles), and with w = 1/2 for equal spins of an
/// unrestricted reference and 1 else:
///
///   G_be = w sum lambda_ji^ba t_ji^ea,  H_jm = w sum lambda_nj^ab t_nm^ab,  z_me = sum lambda_ia t_mi^ea
///   eta_xc = F_xc + sum_a lambda_xa F_ac - sum_i lambda_ic (F_xi + sum t_mi^fe (mf|xe)) - sum_e G_ce F_xe
///          - sum_m H_xm F_mc - sum mu_ni^cb (xn|bi) - w sum lambda_ni^cb t_ni^ef (xe|bf)
///          - sum mu_ij^ac t_im^ae (me|xj) + sum lambda_ij^ac t_im^ae (mj|xe)
///          + sum_Q A_Q B_xc + sum_bQ P_bQ B_bc + sum_mQ R_mQ B_mc
///
/// A, P and R are sums over the other particle, in lambda_equation.cpp.
namespace trifuse {

/// Numbers of the equation that are sums over the occupied orbitals n of the amplitudes.
struct LambdaSums {
  struct OfSpin {
    std::vector<double> eta;     ///< [v]
    std::vector<double> direct;  ///< P[b,Q], the part with products of two amplitudes
    std::vector<double> q;       ///< sum t_mi^fe (mf|xe), [o]
    std::vector<double> g, h, z;
    std::array<std::vector<double>, 2> y;  ///< by the other spin: sum_f lambda_xf t_ni^fe, [n,i,e]
    std::array<std::vector<double>, 2> w;  ///< by the other spin: w sum_ab t_mn^ab lambda_xj^ab, [m,n,j]
    std::array<std::vector<double>, 2>
        exchange;  ///< by the other spin: products of two amplitudes for (mc|be), [m,b,e]
  };
  std::array<OfSpin, 2> spin;
};

/// Evaluates the equation with integrals from factors. Order of calls: run() for each part, residual() with the sum of
/// the results.
class LambdaEquation {
 public:
  /// `right`, `left`: read_t2() delivers t2 and lambda2. `most_doubles`: limit for the integrals of one step. All
  /// references must outlive the equation.
  LambdaEquation(LambdaProblem problem, const SinglesSlabs& right, const SinglesSlabs& left,
                 const FactorSource& factors, std::int64_t most_doubles = std::int64_t{1} << 26);

  /// Returns the sums of part `part` of `parts`. `threads`: largest number of threads. Throws Interrupted soon after
  /// `*stop` becomes true; `stop` may be null.
  std::vector<double> run(int part, int parts, int threads, const std::atomic<bool>* stop);
  /// Returns the residual from the sums of all parts, after run().
  LambdaResidual residual(std::span<const double> sums, int threads, const std::atomic<bool>* stop);

 private:
  using Numbers = std::vector<double>;
  /// The numbers of the combination x of one spin. Arrays with two elements are by the spin of the other particle.
  struct Combination {
    Numbers x, lambda1;                     ///< x_k; sum_k x_k lambda_ka
    std::array<Numbers, 2> lambda2, mu;     ///< sum_k x_k lambda_kj^ab as [j,a,b]; mu is empty unless restricted
    Numbers of_virtuals, of_holes;          ///< B_xe [e,Q] and B_xj [j,Q]
    std::array<Numbers, 2> ov_oo, oo_ov;    ///< (me|xj) as [m,e,j] and (mj|xe) as [m,j,e]
    std::array<Numbers, 2> hole_vo, ov_ov;  ///< (xi|bj) as [i,j,b] and (xe|mf) as [m,f,e]
    Numbers direct;                         ///< P[b,Q], the part with lambda2 alone
  };

  std::int64_t o(int s) const { return problem_.o(s); }
  std::int64_t v(int s) const { return problem_.v(s); }
  const Numbers& t1(int s) const { return problem_.t1[static_cast<std::size_t>(s)]; }
  const Numbers& l1(int s) const { return problem_.l1[static_cast<std::size_t>(s)]; }
  double fock(int s, std::int64_t p, std::int64_t q) const { return problem_.fock_element(s, p, q); }
  Combination& x(int s) { return x_[static_cast<std::size_t>(s)]; }
  const Combination& x(int s) const { return x_[static_cast<std::size_t>(s)]; }
  int spins() const { return problem_.spins(); }
  bool empty(int p, int r) const { return problem_.empty(p, r); }
  double weight(int p, int r) const { return problem_.restricted || p != r ? 1.0 : 0.5; }
  double both() const { return problem_.both(); }
  /// Returns B_ne of hole n as [e,Q].
  std::span<const double> row(int s, std::int64_t n, Numbers& memory) const;
  /// Computes B_an of hole n as [a,Q].
  void particle_row(int s, std::int64_t n, Numbers& out) const;

  /// Calls `visit(array, size)` for each array of `sums`, always in the same order.
  template <typename Visit>
  void for_each_sum(LambdaSums& sums, Visit visit) const;
  void prepare(int threads, const std::atomic<bool>* stop);
  void prepare_holes(int s);
  void prepare_amplitudes(int s, const std::atomic<bool>* stop);
  void prepare_integrals(int r, std::int64_t m, std::array<Numbers, 2>& memory);
  /// Calls `visit(begin, count, planes)` for each band, with the planes B_ab [count,a,b] of the functions from `begin`
  /// on, on several threads.
  template <typename Visit>
  void visit_particles(int s, int threads, const std::atomic<bool>* stop, Visit visit) const;

  /// Reads t2 and lambda2 of hole n; for a restricted reference 2 t2 minus exchanged t2 in place of t2.
  void read(int p, int r, std::int64_t n, LambdaSlabs& slabs) const;
  void add_orbital(int p, std::int64_t n, LambdaSlabs& slabs);
  void add_one_particle(int p, int r, std::int64_t n, const LambdaSlabs& slabs, LambdaPart& part);
  void add_doubles(int s, int r, std::int64_t n, const LambdaSlabs& slabs, LambdaPart& part);
  void add_ring_products(int p, int s, std::int64_t n, const LambdaSlabs& slabs, LambdaPart& part);
  void add_rings(int p, int s, const LambdaSlabs& slabs, LambdaPart& part) const;
  void add_ladder(int s, int r, int part, int parts, int threads, const std::atomic<bool>* stop);
  void add_ladder_of(int s, int r, std::int64_t n, std::int64_t first, std::int64_t count, const Numbers& integrals,
                     LambdaSlabs& slabs);

  Numbers fock_ov(int s) const;
  Numbers fock_row(int s) const;
  void add_fock_terms(int s, const LambdaSums::OfSpin& sums, Numbers& eta) const;
  Numbers sums_of_particles(int s, const LambdaSums::OfSpin& sums) const;
  Numbers sums_of_holes(int s, const LambdaSums::OfSpin& sums) const;
  Numbers coulomb_sums(const LambdaSums& sums) const;

  const LambdaProblem problem_;
  const SinglesSlabs& right_;
  const SinglesSlabs& left_;
  const FactorSource& factors_;
  const std::int64_t auxiliary_, most_doubles_;
  std::array<Combination, 2> x_;
  std::array<Numbers, 2> hole_pairs_;  ///< B_ij [i,j,Q]
  std::array<Numbers, 2> singles_oo_;  ///< sum_e t_je (ie), [i,j,Q]
  std::array<Numbers, 2> singles_vo_;  ///< sum_e t_ie (ae), [i,a,Q]
  Numbers mean_field_;                 ///< sum_nf t_nf (nf), [Q]
  Numbers coulomb_;                    ///< A_Q, the part with lambda1 alone
  std::mutex mutex_;                   ///< protects the sums below
  LambdaSums sums_;
};

}
