#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "cxx/base/buffer.hpp"
#include "cxx/base/communicator.hpp"
#include "tce_tiles/tiles/factor_source.hpp"

namespace trifuse {

/// Computes the terms of ovvv and oovv in the equation of the single excitations (singles_equation.hpp) from factors.
/// The integrals are not made: the terms take 2 naux o^2 v^2 operations for each pair of spins instead of 2 naux o v^3.
/// Spins are 0 for alpha and 1 for beta. With m, n, f of spin u and i, e of spin s:
///
///   R_na = sum_fQ Y_n[f,Q] B[Q,f,a],   Y_n[f,Q] = sum_s sum_ie tau_ni^fe B[Q,i,e] - sum_m t_mf B[Q,m,n]
///
/// Several ranks add the amplitudes of different orbitals n, and R is the sum of their results. The factors B[Q,f,a]
/// are much larger than all Y. With share() each rank needs only a part of these factors.
///
/// Order of calls: add() and add_exchange(), share() if there are several ranks, add_band(), take_residual().
class FactorSingles {
 public:
  /// `occupied`, `virtuals`: numbers of orbitals by spin. `factors` must outlive the object.
  FactorSingles(const FactorSource& factors, const std::array<std::int64_t, 2>& occupied,
                const std::array<std::int64_t, 2>& virtuals);

  /// Adds the amplitudes of the occupied orbital n of spin u: tau_ni^fe as `tau`[i,f,e], spins summed for a closed
  /// shell. Thread-safe.
  void add(int u, int s, std::int64_t n, const double* tau);
  /// Adds the term of oovv of the occupied orbital n of spin u. `t1` [o,v]: the amplitudes of spin u. Thread-safe.
  void add_exchange(int u, std::int64_t n, const double* t1);
  /// Exchanges the sums Y of all ranks: afterwards each rank has them for all orbitals and for an equal part of the
  /// auxiliary functions. Collective. Throws SystemError if the memory does not suffice, and Interrupted soon after
  /// `*stop` becomes true; if one rank throws, all ranks throw. `communicator` must have shared arrays, and its ranks
  /// the same factors. `buffer_bytes`: limit for sums that wait for other ranks, the same on all ranks; the sums of a
  /// single orbital may exceed it. `stop` may be null.
  void share(Communicator& communicator, std::int64_t buffer_bytes, const std::atomic<bool>* stop);
  /// Returns the auxiliary functions whose bands of spin u this object needs. These are all functions, or after share()
  /// the functions of this rank. There are none if no orbital of spin u was added.
  AuxiliaryRange functions(int u) const;
  /// Adds the terms of a band of factors of spin u. Every function of functions(u) must be in exactly one band.
  /// Thread-safe.
  void add_band(int u, const FactorBand& band);
  /// Returns the terms R[n,a] of spin u, shape [o,v], of the bands that were added. Frees the memory of the sums.
  std::vector<double> take_residual(int u);

  const FactorSource& factors() const { return factors_; }

  /// Returns the number of bytes that one thread needs in add() and in add_exchange().
  std::int64_t thread_bytes() const;

 private:
  std::int64_t occupied(int s) const { return occupied_[static_cast<std::size_t>(s)]; }
  std::int64_t virtuals(int s) const { return virtuals_[static_cast<std::size_t>(s)]; }
  ClassOrbitals all_virtuals(int s) const;
  /// Adds `part` to Y_n of spin u.
  void add_to_sum(int u, std::int64_t n, Buffer part);

  const FactorSource& factors_;
  const std::array<std::int64_t, 2> occupied_, virtuals_;
  std::mutex mutex_;
  AuxiliaryRange functions_;                     ///< the functions Q of the sums
  std::array<std::vector<Buffer>, 2> sums_;      ///< by spin: Y_n[f,Q] for each n; empty for orbitals without a sum
  std::array<std::vector<double>, 2> residual_;  ///< by spin: R[n,a], shape [o,v]
};

}
