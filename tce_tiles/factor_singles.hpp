#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <vector>

#include "cxx/base/buffer.hpp"
#include "tce_tiles/dense_factors.hpp"

namespace trifuse {

/// The terms of ovvv and oovv in the equation of the single excitations (singles_equation.hpp), from factors. The
/// integrals are not made: the terms take 2 naux o^2 v^2 operations for each pair of spins instead of 2 naux o v^3.
/// Spins are 0 for alpha and 1 for beta. With m, n, f of spin u and i, e of spin s:
///
///   R_na = sum_fQ Y_n[f,Q] B[Q,f,a],   Y_n[f,Q] = sum_s sum_ie tau_ni^fe B[Q,i,e] - sum_m t_mf B[Q,m,n]
class FactorSingles {
 public:
  /// `occupied`, `virtuals`: numbers of orbitals by spin. `factors` must outlive the object.
  FactorSingles(const DenseFactors& factors, const std::array<std::int64_t, 2>& occupied,
                const std::array<std::int64_t, 2>& virtuals);

  /// Adds the amplitudes of the occupied orbital n of spin u: tau_ni^fe as `tau`[i,f,e], spins summed for a closed
  /// shell. Thread-safe.
  void add(int u, int s, std::int64_t n, const double* tau);
  /// Adds the term of oovv of the occupied orbital n of spin u. `t1` [o,v]: the amplitudes of spin u. Thread-safe.
  void add_exchange(int u, std::int64_t n, const double* t1);
  /// The terms R[n,a] of spin u, shape [o,v], of the orbitals that were added. Frees the memory of their sums. Uses at
  /// most `threads` threads.
  std::vector<double> take_residual(int u, int threads);

  /// Bytes that one thread needs in `add` and in `add_exchange`.
  std::int64_t thread_bytes() const;

 private:
  std::int64_t occupied(int s) const { return occupied_[static_cast<std::size_t>(s)]; }
  std::int64_t virtuals(int s) const { return virtuals_[static_cast<std::size_t>(s)]; }
  ClassOrbitals all_virtuals(int s) const;
  /// Adds `part` to Y_n of spin u.
  void add_to_sum(int u, std::int64_t n, Buffer part);

  const DenseFactors& factors_;
  const std::array<std::int64_t, 2> occupied_, virtuals_;
  std::mutex mutex_;
  std::array<std::vector<Buffer>, 2> sums_;  ///< by spin: Y_n[f,Q] for each n; empty for orbitals without a sum
};

}  // namespace trifuse
