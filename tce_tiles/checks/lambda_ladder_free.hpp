#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "tce_tiles/checks/dense_slabs.hpp"
#include "tce_tiles/checks/lambda_problem.hpp"
#include "tce_tiles/checks/lambda_slabs.hpp"

/// A CCSD Lambda equation without the integrals (ab|cd) and (ij|kl), as a test of Lambda amplitudes.
///
/// In the CCSD equations these integrals multiply tau = t2 + t1 t1 only. So they are absent from the derivative of the
/// Lagrangian (lambda_equation.hpp) with respect to t1 with tau kept, which is zero as well: it is a sum of Lambda
/// equations of the single and of the double excitations. It has no term without Lambda amplitudes if f_ia = 0, so
/// amplitudes with a wrong common factor, or zeros, satisfy it.
///
/// With spin orbitals, g_mnef = <mn||ef> and sums over repeated indices, it is for an occupied orbital k and a virtual
/// orbital c
///
///   nu_jb = lambda_ij^ab t_ia,  sigma = l1 - nu,  k_me = t_nf g_mnef,  J_jb = t_me <mb||ej>,  tau_- = t2 - t1 t1,
///   G_be = 1/2 lambda_ij^ab t_ij^ae,  H_jm = 1/2 lambda_ij^ab t_im^ab,  P_ae = 1/2 tau_mn^af g_mnef,
///   Q_mi = 1/2 tau_in^ef g_mnef,  X_be = f_be - t_mb f_me + 2 t_mf <mb||fe> - P_be,
///   Y_mj = f_mj + t_je f_me + 2 t_ne <mn||je> + Q_mj,  D_be = G_be - nu_jb t_je,  E_jm = H_jm - nu_jb t_mb,
///   N_jb = t_je X_be - t_mb Y_mj + J_jb + tau_jn^bf k_nf,  B_me = sigma_ia tau_im^ae + 2 t_ie l_ia t_ma,
///   A_mn^f = lambda_kj^ab t_jf t_ma t_nb,  V_meb = lambda_kj^ab (tau_jm^ae + 2 t_je t_ma) + delta_mk D_be,
///   U_ijb = 1/4 tau_-ij^ef <kb||ef> + 1/2 <kb||ij> + t_nb (t_ie t_jf g_knef + 2 t_ie <kn||ej>) - tau_im^be <mk||ej>
///
///   eta_kc = f_kc + l_ka f_ac - l_ic f_ki - (l.t) f_kc - l_kc (t.f) - l_ka P_ac - l_ic Q_ki + 2 l_ka t_ma k_mc
///          + 2 l_ic t_ie k_ke - sigma_kc (t.k) - (2 l.t - nu.t) k_kc - G_ce f_ke - H_km f_mc - nu_kb X_bc
///          + nu_jc Y_kj + sigma_jb <kb||cj> + B_me g_mkec - lambda_kj^cb N_jb - lambda_ij^cb U_ijb
///          + (1/4 lambda_kj^ab tau_-mn^ab - delta_mk E_jn) <mn||cj> - A_mn^f g_mncf
///          + 1/2 lambda_kj^ab <ab||cj> - V_meb <mb||ec>
///
/// All operations are of order o^2 v^3 or less, because k is summed over with the factors x_k of
/// LambdaProblem::combination.
namespace trifuse {

/// Evaluates the equation. Order of calls: run() for each part and accept() with the sum of the results, for each pass;
/// residual().
///
/// A pair of spins has a kind: 0 equal spins, 1 opposite spins. Arrays [kind] belong to one first spin.
/// For a restricted reference both spins have the arrays of alpha.
class LambdaLadderFree {
 public:
  static constexpr int passes = 3;

  /// `right` has t2 and the integrals. `left`: its read_t2() delivers lambda2. `most_doubles`: limit for the integrals
  /// of one step. Both slabs must outlive the equation.
  LambdaLadderFree(LambdaProblem problem, const DenseSlabs& right, const SinglesSlabs& left,
                   std::int64_t most_doubles = std::int64_t{1} << 26);

  /// Returns the sums of part `part` of `parts` in a pass. `threads`: largest number of threads. Throws Interrupted
  /// soon after `*stop` becomes true; `stop` may be null.
  std::vector<double> run(int pass, int part, int parts, int threads, const std::atomic<bool>* stop);
  /// Takes the sums of all parts, after run() of the same pass.
  void accept(int pass, std::span<const double> sums);
  /// Returns the residual, after the last pass.
  LambdaResidual residual() const;

 private:
  using Numbers = std::vector<double>;
  /// The numbers that one spin adds in the first pass. x denotes a sum over k with x_k.
  struct First {
    Numbers nu, g, h, p, q, k, j;
    Numbers m;                        ///< sum t_ne <mn||je>, [m,j]
    std::array<Numbers, 2> lambda_x;  ///< lambda_xj^ab, [j,a,b]
    std::array<Numbers, 2> xv_oo;     ///< (xe|nj) as [e,n,j]; later <xn||ej> for equal spins
    std::array<Numbers, 2> ov_xo;     ///< (jb|xi) as [j,b,i]
    std::array<Numbers, 2> xv_ov;     ///< (xe|mf) as [e,m,f]; later g_xmef for equal spins
    Numbers xo_vv;                    ///< (xj|bc) as [j,b,c]
  };
  /// The numbers that one spin adds in the second pass.
  struct Second {
    Numbers b, n;                          ///< B; the term of tau in N
    std::array<Numbers, 2> direct, other;  ///< factors of (me|bc) as [m,e,b] and of (mc|be) as [m,b,e], m of this spin
    Numbers eta;                           ///< [c]
  };
  /// The numbers that one spin adds in the third pass.
  struct Third {
    Numbers k;    ///< sum t_mf <mb||fe>, [b,e]
    Numbers eta;  ///< [c]
  };

  std::int64_t o(int s) const { return problem_.o(s); }
  std::int64_t v(int s) const { return problem_.v(s); }
  const Numbers& t1(int s) const { return problem_.t1[static_cast<std::size_t>(s)]; }
  const Numbers& l1(int s) const { return problem_.l1[static_cast<std::size_t>(s)]; }
  int spins() const { return problem_.spins(); }
  /// Returns the spin whose arrays the other orbital of a pair has.
  int other(int s, int kind) const { return problem_.restricted ? 0 : kind == 0 ? s : 1 - s; }
  /// Returns true if an array of integrals is antisymmetrised.
  bool is_asym(const std::array<bool, 2>& of_spin, int p, int kind) const {
    return kind == 0 && of_spin[static_cast<std::size_t>(p)];
  }
  /// Returns true if a pair has integrals of its own. For a restricted reference only opposite spins have.
  bool has_integrals(int kind) const { return !problem_.restricted || kind == 1; }
  /// Returns true if the exchange of a pair with integrals comes from the same integrals.
  bool has_exchange(const std::array<bool, 2>& asym, int p, int kind) const {
    return problem_.restricted || (kind == 0 && !is_asym(asym, p, kind));
  }

  /// An array that parts add up, and its size.
  struct Sum {
    Numbers* numbers;
    std::size_t size;
  };
  /// Returns the arrays of a pass that parts add up, always in the same order.
  std::vector<Sum> sums_of(int pass);

  /// Reads t2 and lambda2 of hole n of spin p, antisymmetric for equal spins.
  void read(int p, int kind, std::int64_t n, LambdaSlabs& slabs) const;
  /// Adds sign * t1 t1 to t2.
  void add_singles(double sign, int p, int kind, std::int64_t n, Numbers& t2) const;
  void add_first(int p, std::int64_t n, LambdaSlabs& slabs);
  void add_first_ovov(int p, int kind, std::int64_t n, const Numbers& tau, First& of_p, First& of_other);
  void add_first_ovoo(int p, int kind, std::int64_t n, First& of_other);
  void finish_first();
  void add_second(int p, std::int64_t n, LambdaSlabs& slabs);
  void add_second_of_x(int s, int kind, std::int64_t n, const LambdaSlabs& slabs, Numbers& eta);
  void add_second_of_other(int s, int kind, std::int64_t n, const LambdaSlabs& slabs, Numbers& eta);
  /// Returns sum_n t_nb (...) of U for orbital i, [j,b]
  Numbers dressed_holes(int s, int kind, std::int64_t i) const;
  void add_third(int u, int kind, int part, int parts, int threads, const std::atomic<bool>* stop);
  void add_ovvv(int u, int kind, std::int64_t first, std::int64_t count, std::int64_t begin, Numbers& of_x);
  void add_ladder(int s, int kind, std::int64_t i, std::int64_t first, std::int64_t count, const Numbers& of_x,
                  LambdaSlabs& slabs);
  Numbers final_eta(int s, Numbers& big_n, Numbers& big_b) const;

  const LambdaProblem problem_;
  const DenseSlabs& right_;
  const SinglesSlabs& left_;
  const std::int64_t most_doubles_;
  std::array<Numbers, 2> x_;
  std::array<First, 2> first_;
  std::array<Second, 2> second_;
  std::array<Third, 2> third_;
  std::array<Numbers, 2> sigma_, d_, e_;  ///< sigma, D and E
  std::array<Numbers, 2> coulomb_;        ///< sigma_jb <xb||cj>, [c]
  std::mutex mutex_;                      ///< protects the sums
};

}
