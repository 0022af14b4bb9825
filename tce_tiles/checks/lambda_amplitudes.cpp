#include <algorithm>

#include "cxx/base/blas.hpp"
#include "tce_tiles/checks/lambda_equation.hpp"
#include "tce_tiles/checks/small_operations.hpp"
#include "tce_tiles/checks/sum_spins.hpp"

/// The terms of the Lambda equation with two amplitudes. In the functions, p is the spin of hole n, r is the spin of
/// the other particle of the amplitudes, and s is the spin of x.
namespace trifuse {

void LambdaEquation::read(int p, int r, std::int64_t n, LambdaSlabs& slabs) const {
  for (const bool right : {true, false}) {
    Numbers& slab = (right ? slabs.t2 : slabs.lambda2)[at(r)];
    slab.resize(at(o(r) * v(p) * v(r)));
    (right ? right_ : left_).read_t2(p, r, n, 0, o(r), slab);
  }
  if (problem_.restricted) sum_spins(o(r), v(r), slabs.t2[at(r)].data());
}

void LambdaEquation::add_orbital(int p, std::int64_t n, LambdaSlabs& slabs) {
  LambdaPart part;
  for (int s = 0; s < spins(); ++s) {
    part.eta[at(s)].assign(at(v(s)), 0.0);
    part.direct[at(s)].assign(at(v(s) * auxiliary_), 0.0);
    part.q[at(s)].assign(at(o(s)), 0.0);
    part.g[at(s)].assign(at(v(s) * v(s)), 0.0);
    part.h[at(s)].assign(at(o(s) * o(s)), 0.0);
  }
  for (int r = 0; r < spins(); ++r) {
    if (!empty(p, r)) read(p, r, n, slabs);
  }
  for (int r = 0; r < spins(); ++r) {
    if (empty(p, r)) continue;
    add_one_particle(p, r, n, slabs, part);
    add_doubles(p, r, n, slabs, part);
  }
  for (int s = 0; s < spins(); ++s) {
    if (empty(p, s)) continue;
    add_ring_products(p, s, n, slabs, part);
    add_rings(p, s, slabs, part);
  }
  const std::lock_guard lock(mutex_);
  for (int s = 0; s < spins(); ++s) {
    LambdaSums::OfSpin& sums = sums_.spin[at(s)];
    add_scaled(1.0, part.eta[at(s)].data(), sums.eta);
    add_scaled(1.0, part.direct[at(s)].data(), sums.direct);
    add_scaled(1.0, part.q[at(s)].data(), sums.q);
    add_scaled(1.0, part.g[at(s)].data(), sums.g);
    add_scaled(1.0, part.h[at(s)].data(), sums.h);
  }
}

/// Adds the parts of G, H, z and q.
void LambdaEquation::add_one_particle(int p, int r, std::int64_t n, const LambdaSlabs& slabs, LambdaPart& part) {
  const double* const t = slabs.t2[at(r)].data();
  const double* const lambda = slabs.lambda2[at(r)].data();
  const std::int64_t o_r = o(r), v_p = v(p), v_r = v(r), page = v_p * v_r;
  double* const z = sums_.spin[at(p)].z.data() + n * v_p;
  for (std::int64_t i = 0; i < o_r; ++i) {
    multiply_add(false, true, v_p, v_p, v_r, weight(p, r), lambda + i * page, t + i * page, part.g[at(p)].data());
    multiply_add(false, false, v_p, 1, v_r, 1.0, t + i * page, l1(r).data() + i * v_r, z);
  }
  multiply_add(false, true, o_r, o_r, page, weight(p, r), lambda, t, part.h[at(r)].data());
  multiply_add(false, false, o_r, 1, page, 1.0, t, x(r).ov_ov[at(p)].data() + n * page, part.q[at(r)].data());
}

/// Adds the terms in which n has the spin of x: y, w, the exchange with the other spin, and terms of (xn|bi) and
/// (mj|xe).
void LambdaEquation::add_doubles(int s, int r, std::int64_t n, const LambdaSlabs& slabs, LambdaPart& part) {
  const double* const t = slabs.t2[at(r)].data();
  const double* const lambda = slabs.lambda2[at(r)].data();
  const std::int64_t o_r = o(r), v_s = v(s), v_r = v(r), page = v_s * v_r;
  const Combination& of_x = x(s);
  LambdaSums::OfSpin& sums = sums_.spin[at(s)];
  double* const eta = part.eta[at(s)].data();
  double* const y = sums.y[at(r)].data() + n * o_r * v_r;
  for (std::int64_t i = 0; i < o_r; ++i) {
    multiply_add(false, false, 1, v_r, v_s, 1.0, of_x.lambda1.data(), t + i * page, y + i * v_r);
  }
  multiply_add(false, true, o_r, o_r, page, weight(s, r), t, of_x.lambda2[at(r)].data(),
               sums.w[at(r)].data() + n * o_r * o_r);
  const double* const integrals = of_x.hole_vo[at(r)].data() + n * o_r * v_r;
  contract_last(problem_.restricted ? -2.0 : -1.0, o_r, v_s, v_r, lambda, integrals, eta);
  if (problem_.restricted) contract_first(1.0, o_r, v_r, v_s, lambda, integrals, eta);
  if (!problem_.restricted && r == s) return;
  double* const exchange = sums.exchange[at(r)].data() + n * v_r * v_r;
  Numbers ring(at(o_r * v_r), 0.0);  // sum_me t_nm^ea (mj|xe), [j,a]
  for (std::int64_t i = 0; i < o_r; ++i) {
    multiply_add(true, false, v_r, v_r, v_s, 1.0, of_x.lambda2[at(r)].data() + i * page, t + i * page, exchange);
    multiply_add(false, false, o_r, v_r, v_s, 1.0, of_x.oo_ov[at(r)].data() + i * o_r * v_s, t + i * page, ring.data());
  }
  contract_last(1.0, o_r, v_s, v_r, lambda, ring.data(), eta);
}

/// Adds sum_ia lambda_xi^ba t_ni^ea, for (ne|bc) and (nc|be).
void LambdaEquation::add_ring_products(int p, int s, std::int64_t n, const LambdaSlabs& slabs, LambdaPart& part) {
  const Combination& of_x = x(s);
  const std::int64_t v_p = v(p), v_s = v(s);
  Numbers direct(at(v_s * v_p), 0.0), exchange(problem_.restricted ? direct.size() : 0, 0.0), memory;
  for (int r = 0; r < spins(); ++r) {
    if (empty(p, r) || empty(s, r)) continue;
    for (std::int64_t i = 0; i < o(r); ++i) {
      const double* const t = slabs.t2[at(r)].data() + i * v_p * v(r);
      const std::int64_t of_i = i * v_s * v(r);
      multiply_add(false, true, v_s, v_p, v(r), 1.0, of_x.mu[at(r)].data() + of_i, t, direct.data());
      if (!problem_.restricted) continue;
      multiply_add(false, true, v_s, v_p, v(r), 1.0, of_x.lambda2[at(r)].data() + of_i, t, exchange.data());
    }
  }
  const std::span<const double> of_n = row(p, n, memory);
  multiply_add(false, false, v_s, auxiliary_, v_p, 1.0, direct.data(), of_n.data(), part.direct[at(s)].data());
  if (p != s) return;
  const Numbers& of_exchange = problem_.restricted ? exchange : direct;
  double* const to = sums_.spin[at(s)].exchange[at(s)].data() + n * v_s * v_s;
  for (std::int64_t be = 0; be < v_s * v_s; ++be) to[be] += of_exchange[at(be)];
}

/// Adds -sum mu_nj^ac t_nm^ae (me|xj) + sum lambda_nj^ac t_nm^ae (mj|xe).
void LambdaEquation::add_rings(int p, int s, const LambdaSlabs& slabs, LambdaPart& part) const {
  const Combination& of_x = x(s);
  const std::int64_t o_s = o(s), v_p = v(p), v_s = v(s);
  Numbers direct(at(o_s * v_p), 0.0), exchange(direct.size(), 0.0);  // [j,a]
  for (int r = 0; r < spins(); ++r) {
    if (empty(p, r)) continue;
    for (std::int64_t m = 0; m < o(r); ++m) {
      const double* const t = slabs.t2[at(r)].data() + m * v_p * v(r);
      multiply_add(true, true, o_s, v_p, v(r), 1.0, of_x.ov_oo[at(r)].data() + m * v(r) * o_s, t, direct.data());
      if (r != s) continue;
      multiply_add(false, true, o_s, v_p, v_s, 1.0, of_x.oo_ov[at(s)].data() + m * o_s * v_s, t, exchange.data());
    }
  }
  const double* const lambda = slabs.lambda2[at(s)].data();
  double* const eta = part.eta[at(s)].data();
  contract_first(problem_.restricted ? -2.0 : -1.0, o_s, v_p, v_s, lambda, direct.data(), eta);
  if (problem_.restricted) contract_last(1.0, o_s, v_s, v_p, lambda, direct.data(), eta);
  contract_first(1.0, o_s, v_p, v_s, lambda, exchange.data(), eta);
}

void LambdaEquation::add_ladder_of(int s, int r, std::int64_t n, std::int64_t first, std::int64_t count,
                                   const Numbers& integrals, LambdaSlabs& slabs) {
  read(s, r, n, slabs);
  const std::int64_t o_r = o(r), v_s = v(s), v_r = v(r);
  Numbers products(at(o_r * v_r), 0.0), eta(at(v_s), 0.0);  // sum_ef t_ni^ef (xe|bf), [i,b]
  for (std::int64_t e = 0; e < count; ++e) {
    multiply_add(false, true, o_r, v_r, v_r, 1.0, slabs.t2[at(r)].data() + (first + e) * v_r, v_s * v_r,
                 integrals.data() + e * v_r * v_r, v_r, products.data(), v_r);
  }
  contract_last(-weight(s, r), o_r, v_s, v_r, slabs.lambda2[at(r)].data(), products.data(), eta.data());
  const std::lock_guard lock(mutex_);
  add_scaled(1.0, eta.data(), sums_.spin[at(s)].eta);
}

}
