#include <algorithm>

#include "cxx/base/blas.hpp"
#include "tce_tiles/checks/lambda_ladder_free.hpp"
#include "tce_tiles/checks/small_operations.hpp"

/// The sums over the occupied orbitals n of the amplitudes.
namespace trifuse {
namespace {

/// Subtracts the transposed page from each page [f,e] of `slab`.
void antisymmetrise(std::int64_t count, std::int64_t v, double* slab) {
  for (std::int64_t i = 0; i < count; ++i, slab += v * v) {
    for (std::int64_t f = 0; f < v; ++f) {
      slab[f * v + f] = 0.0;
      for (std::int64_t e = 0; e < f; ++e) {
        const double difference = slab[f * v + e] - slab[e * v + f];
        slab[f * v + e] = difference;
        slab[e * v + f] = -difference;
      }
    }
  }
}

}

void LambdaLadderFree::read(int p, int kind, std::int64_t n, LambdaSlabs& slabs) const {
  const int r = other(p, kind);
  for (const bool right : {true, false}) {
    Numbers& slab = (right ? slabs.t2 : slabs.lambda2)[at(kind)];
    slab.resize(at(o(r) * v(p) * v(r)));
    if (right) {
      right_.read_t2(p, r, n, 0, o(r), slab);
    } else {
      left_.read_t2(p, r, n, 0, o(r), slab);
    }
    if (problem_.restricted && kind == 0) antisymmetrise(o(r), v(r), slab.data());
  }
}

void LambdaLadderFree::add_singles(double sign, int p, int kind, std::int64_t n, Numbers& t2) const {
  const int r = other(p, kind);
  const std::int64_t v_p = v(p), v_r = v(r);
  const double* const t_n = t1(p).data() + n * v_p;
  double* row = t2.data();
  for (std::int64_t i = 0; i < o(r); ++i) {
    const double* const t_i = t1(r).data() + i * v_r;
    for (std::int64_t f = 0; f < v_p; ++f, row += v_r) {
      const double t_nf = sign * t_n[f], t_if = kind == 0 ? sign * t_i[f] : 0.0;
      for (std::int64_t e = 0; e < v_r; ++e) row[e] += t_nf * t_i[e];
      for (std::int64_t e = 0; kind == 0 && e < v_r; ++e) row[e] -= t_if * t_n[e];
    }
  }
}

void LambdaLadderFree::add_first(int p, std::int64_t n, LambdaSlabs& slabs) {
  First of_p, of_other;
  for (int kind = 0; kind < 2; ++kind) {
    const int r = other(p, kind);
    const std::int64_t o_r = o(r), v_p = v(p), v_r = v(r), page = v_p * v_r;
    if (problem_.empty(p, r)) continue;
    read(p, kind, n, slabs);
    Numbers& t = slabs.t2[at(kind)];
    const double* const lambda = slabs.lambda2[at(kind)].data();
    const double weight = kind == 0 ? 0.5 : 1.0;
    First& sums = first_[at(p)];
    contract_last(1.0, o_r, v_p, v_r, lambda, t1(r).data(), sums.nu.data() + n * v_p);
    for (Numbers* each : {&of_p.g, &of_p.p}) each->assign(at(v_p * v_p), 0.0);
    for (Numbers* each : {&of_other.h, &of_other.q, &of_other.m}) each->assign(at(o_r * o_r), 0.0);
    for (std::int64_t i = 0; i < o_r; ++i) {
      multiply_add(false, true, v_p, v_p, v_r, weight, lambda + i * page, t.data() + i * page, of_p.g.data());
    }
    multiply_add(false, true, o_r, o_r, page, weight, lambda, t.data(), of_other.h.data());
    add_singles(1.0, p, kind, n, t);
    add_first_ovov(p, kind, n, t, of_p, of_other);
    if (has_integrals(kind)) add_first_ovoo(p, kind, n, of_other);
    const std::lock_guard lock(mutex_);
    add_scaled(x_[at(p)][at(n)], lambda, sums.lambda_x[at(kind)]);
    add_scaled(1.0, of_p.g.data(), sums.g);
    add_scaled(1.0, of_p.p.data(), sums.p);
    add_scaled(1.0, of_other.h.data(), first_[at(r)].h);
    add_scaled(1.0, of_other.q.data(), first_[at(r)].q);
    add_scaled(1.0, of_other.m.data(), first_[at(r)].m);
  }
  const std::int64_t o_p = o(p), v_p = v(p);
  Numbers exchange(at(o_p * v_p * v_p));
  right_.read_oovv(p, n, exchange);
  contract_first(-1.0, o_p, v_p, v_p, exchange.data(), t1(p).data(), first_[at(p)].j.data() + n * v_p);
  const std::lock_guard lock(mutex_);
  add_scaled(x_[at(p)][at(n)], exchange.data(), first_[at(p)].xo_vv);
}

/// Adds the parts of P, Q, k, J and (xe|mf).
void LambdaLadderFree::add_first_ovov(int p, int kind, std::int64_t n, const Numbers& tau, First& of_p,
                                      First& of_other) {
  const int r = other(p, kind);
  const std::int64_t o_r = o(r), v_p = v(p), v_r = v(r), page = v_p * v_r, row = o_r * v_r;
  Numbers integrals(at(v_p * row));  // (nf|me) as [f,m,e]
  right_.read_ovov(p, r, n, integrals);
  const bool asym = is_asym(problem_.asym_ovov, p, kind);
  const double weight = asym ? 0.5 : 1.0;
  for (std::int64_t i = 0; i < o_r; ++i) {
    multiply_add(false, true, v_p, v_p, v_r, weight, tau.data() + i * page, v_r, integrals.data() + i * v_r, row,
                 of_p.p.data(), v_p);
  }
  for (std::int64_t f = 0; f < v_p; ++f) {
    multiply_add(false, true, o_r, o_r, v_r, weight, integrals.data() + f * row, v_r, tau.data() + f * v_r, page,
                 of_other.q.data(), o_r);
  }
  if (!has_integrals(kind)) return;
  First& sums = first_[at(p)];
  double *const k = sums.k.data() + n * v_p, *const j = sums.j.data() + n * v_p;
  for (std::int64_t f = 0; f < v_p; ++f) {
    const double direct = problem_.both() * dot(row, integrals.data() + f * row, t1(r).data());
    k[f] += direct;
    // Antisymmetrised (ij|ab) contains this term of equal spins.
    if (!is_asym(problem_.asym_oovv, p, kind)) j[f] += direct;
  }
  if (has_exchange(problem_.asym_ovov, p, kind)) {
    for (std::int64_t e = 0; e < v_p; ++e) {
      for (std::int64_t m = 0; m < o_r; ++m) {
        const double t_me = t1(p)[at(m * v_p + e)];
        for (std::int64_t f = 0; f < v_p; ++f) k[f] -= t_me * integrals[at((e * o_r + m) * v_p + f)];
      }
    }
  }
  const std::lock_guard lock(mutex_);
  add_scaled(x_[at(p)][at(n)], integrals.data(), sums.xv_ov[at(kind)]);
}

/// Adds the parts of <mn||je> t_ne, (xe|nj) and (jb|xi).
void LambdaLadderFree::add_first_ovoo(int p, int kind, std::int64_t n, First& of_other) {
  const int r = other(p, kind);
  const std::int64_t o_r = o(r), v_p = v(p), page = o_r * o_r;
  Numbers integrals(at(v_p * page));  // (nf|mi) as [f,m,i]
  right_.read_ovoo(p, r, n, integrals);
  multiply_add(false, false, 1, page, v_p, problem_.both(), t1(p).data() + n * v_p, integrals.data(),
               of_other.m.data());
  double* const to_x = first_[at(r)].ov_xo[at(kind)].data() + n * v_p * o_r;
  for (std::int64_t b = 0; b < v_p; ++b) {
    multiply_add(false, false, 1, o_r, o_r, 1.0, x_[at(r)].data(), integrals.data() + b * page, to_x + b * o_r);
  }
  const bool exchange = has_exchange(problem_.asym_ovoo, p, kind);
  for (std::int64_t e = 0; exchange && e < v_p; ++e) {
    for (std::int64_t m = 0; m < o_r; ++m) {
      const double t_me = t1(p)[at(m * v_p + e)];
      for (std::int64_t j = 0; j < o_r; ++j)
        of_other.m[at(n * o_r + j)] -= t_me * integrals[at((e * o_r + m) * o_r + j)];
    }
  }
  const std::lock_guard lock(mutex_);
  add_scaled(x_[at(p)][at(n)], integrals.data(), first_[at(p)].xv_oo[at(kind)]);
}

void LambdaLadderFree::add_second(int p, std::int64_t n, LambdaSlabs& slabs) {
  std::array<Numbers, 2> eta;
  for (int s = 0; s < spins(); ++s) eta[at(s)].assign(at(v(s)), 0.0);
  for (int kind = 0; kind < 2; ++kind) {
    const int r = other(p, kind);
    if (problem_.empty(p, r)) continue;
    read(p, kind, n, slabs);
    Numbers& tau = slabs.t2[at(kind)];
    add_singles(1.0, p, kind, n, tau);
    contract_last(1.0, o(r), v(p), v(r), tau.data(), sigma_[at(r)].data(), second_[at(p)].b.data() + n * v(p));
    contract_last(1.0, o(r), v(p), v(r), tau.data(), first_[at(r)].k.data(), second_[at(p)].n.data() + n * v(p));
  }
  for (int kind = 0; kind < 2; ++kind) {
    const int s = other(p, kind);
    if (!problem_.empty(p, s)) add_second_of_x(p, kind, n, slabs, eta[at(p)]);
    if (!problem_.empty(p, s)) add_second_of_other(s, kind, n, slabs, eta[at(s)]);
  }
  const std::lock_guard lock(mutex_);
  for (int s = 0; s < spins(); ++s) add_scaled(1.0, eta[at(s)].data(), second_[at(s)].eta);
}

LambdaLadderFree::Numbers LambdaLadderFree::dressed_holes(int s, int kind, std::int64_t i) const {
  const int r = other(s, kind);
  const std::int64_t o_r = o(r), v_s = v(s), v_r = v(r);
  const First& of_x = first_[at(s)];
  const double* const t_i = t1(s).data() + i * v_s;
  Numbers holes(at(o_r * o_r), 0.0), pairs(at(o_r * v_r), 0.0);  // [n,j]; sum_e t_ie (xe|nf), [n,f]
  multiply_add(false, false, 1, o_r * o_r, v_s, 2.0, t_i, of_x.xv_oo[at(kind)].data(), holes.data());
  multiply_add(false, false, 1, o_r * v_r, v_s, kind == 0 ? 1.0 : 2.0, t_i, of_x.xv_ov[at(kind)].data(), pairs.data());
  // For equal spins <xn||ej> contains this term.
  for (std::int64_t nf = 0; kind == 1 && nf < o_r * v_r; ++nf) {
    pairs[at(nf)] += 2.0 * of_x.ov_xo[at(kind)][at(nf * o(s) + i)];
  }
  multiply_add(false, true, o_r, o_r, v_r, 1.0, pairs.data(), t1(r).data(), holes.data());
  Numbers result(at(o_r * v_r), 0.0);
  multiply_add(true, false, o_r, v_r, o_r, 1.0, holes.data(), t1(r).data(), result.data());
  return result;
}

/// Adds the terms in which n has the spin s of x and the other orbital has the spin of `kind`.
void LambdaLadderFree::add_second_of_x(int s, int kind, std::int64_t n, const LambdaSlabs& slabs, Numbers& eta) {
  const int r = other(s, kind);
  const std::int64_t o_r = o(r), v_s = v(s), v_r = v(r), page = v_s * v_r;
  const First& of_x = first_[at(s)];
  const double* const tau = slabs.t2[at(kind)].data();
  const double* const lambda_x = of_x.lambda_x[at(kind)].data();
  const double* const t_n = t1(s).data() + n * v_s;
  // U without the ladder and without the rings of the other orbital, [j,b].
  Numbers u = dressed_holes(s, kind, n);
  for (std::int64_t jb = 0; jb < o_r * v_r; ++jb) u[at(jb)] += of_x.ov_xo[at(kind)][at(jb * o(s) + n)];
  for (std::int64_t m = 0; kind == 1 && m < o_r; ++m) {
    multiply_add(true, false, o_r, v_r, v_s, -1.0, of_x.xv_oo[1].data() + m * o_r, o_r * o_r, tau + m * page, v_r,
                 u.data(), v_r);
  }
  contract_last(-1.0, o_r, v_s, v_r, slabs.lambda2[at(kind)].data(), u.data(), eta.data());

  Numbers singles(at(o_r * v_r), 0.0);                             // sum_a lambda_xj^ab t_na, [j,b]
  Numbers pairs(at(o_r * o_r), 0.0), doubles(at(o_r * o_r), 0.0);  // sum_ab lambda_xj^ab t_na t_mb, [m,j]; with tau_-
  for (std::int64_t j = 0; j < o_r; ++j) {
    multiply_add(false, false, 1, v_r, v_s, 1.0, t_n, lambda_x + j * page, singles.data() + j * v_r);
  }
  multiply_add(false, true, o_r, o_r, v_r, 1.0, t1(r).data(), singles.data(), pairs.data());
  multiply_add(false, true, o_r, o_r, page, kind == 0 ? 0.5 : 1.0, tau, lambda_x, doubles.data());
  add_scaled(-2.0, pairs.data(), doubles);
  Numbers ovoo(at(v_s * o_r * o_r)), ovov(at(v_s * o_r * v_r)), a(at(o_r * v_r), 0.0);
  right_.read_ovoo(s, r, n, ovoo);
  right_.read_ovov(s, r, n, ovov);
  multiply_add(false, false, v_s, 1, o_r * o_r, is_asym(problem_.asym_ovoo, s, kind) ? 0.5 : 1.0, ovoo.data(),
               doubles.data(), eta.data());
  multiply_add(false, false, o_r, v_r, o_r, 1.0, pairs.data(), t1(r).data(), a.data());
  multiply_add(false, false, v_s, 1, o_r * v_r, is_asym(problem_.asym_ovov, s, kind) ? -1.0 : -2.0, ovov.data(),
               a.data(), eta.data());
  if (kind == 0) return;
  // The factors of (nc|be), c of the spin s, as [b,e].
  double* const factors = second_[at(s)].other[1].data() + n * v_r * v_r;
  for (std::int64_t j = 0; j < o_r; ++j) {
    multiply_add(true, false, v_r, v_r, v_s, -1.0, lambda_x + j * page, tau + j * page, factors);
  }
  multiply_add(true, false, v_r, v_r, o_r, 2.0, singles.data(), t1(r).data(), factors);
  for (std::int64_t be = 0; be < v_r * v_r; ++be) factors[be] += x_[at(s)][at(n)] * d_[at(r)][at(be)];
}

/// Adds the terms in which x has the spin s, and n is the other orbital, whose spin p makes the pair of `kind`.
void LambdaLadderFree::add_second_of_other(int s, int kind, std::int64_t n, const LambdaSlabs& slabs, Numbers& eta) {
  const int p = other(s, kind);
  const std::int64_t o_p = o(p), o_s = o(s), v_p = v(p), v_s = v(s);
  const First& of_x = first_[at(s)];
  Numbers rings(at(o_s * v_p), 0.0), v_eb(at(v_p * v_s), 0.0), singles(at(o_p * v_s), 0.0);
  for (int third = 0; third < 2; ++third) {  // the kind of s and the third spin
    const int q = other(s, third), block = kind ^ third;
    if (problem_.empty(p, q)) continue;
    const std::int64_t v_q = v(q);
    const double* const tau = slabs.t2[at(block)].data();
    for (std::int64_t m = 0; m < o(q); ++m) {
      // For equal spins (me|xi) - (mi|xe) = -<xm||ei>.
      const double* const integrals =
          third == 0 ? of_x.xv_oo[0].data() + m * o_s : of_x.ov_xo[1].data() + m * v_q * o_s;
      multiply_add(true, true, o_s, v_p, v_q, third == 0 ? -1.0 : 1.0, integrals, third == 0 ? o_s * o_s : o_s,
                   tau + m * v_p * v_q, v_q, rings.data(), v_p);
      multiply_add(false, true, v_p, v_s, v_q, 1.0, tau + m * v_p * v_q,
                   of_x.lambda_x[at(third)].data() + m * v_s * v_q, v_eb.data());
    }
  }
  contract_first(-1.0, o_s, v_p, v_s, slabs.lambda2[at(kind)].data(), rings.data(), eta.data());

  const double* const lambda_x = of_x.lambda_x[at(kind)].data();
  for (std::int64_t j = 0; j < o_p; ++j) {
    multiply_add(false, false, v_s, 1, v_p, 2.0, lambda_x + j * v_s * v_p, t1(p).data() + n * v_p,
                 singles.data() + j * v_s);
  }
  multiply_add(true, false, v_p, v_s, o_p, 1.0, t1(p).data(), singles.data(), v_eb.data());
  for (std::int64_t e = 0; e < v_p; ++e) {
    for (std::int64_t b = 0; b < v_s; ++b) {
      double& element = v_eb[at(e * v_s + b)];
      element += lambda_x[(n * v_s + b) * v_p + e];
      if (kind == 0) element -= x_[at(s)][at(n)] * d_[at(s)][at(b * v_s + e)];
    }
  }
  const std::int64_t of_n = n * v_p * v_s;
  const int slot = problem_.restricted ? 1 : kind;
  const std::lock_guard lock(mutex_);
  for (std::int64_t eb = 0; eb < v_p * v_s; ++eb) {
    // Antisymmetrised (me|bc) contain the second term in the first.
    if (!is_asym(problem_.asym_ovvv, p, kind)) second_[at(p)].direct[at(slot)][at(of_n + eb)] += v_eb[at(eb)];
    if (kind == 0) second_[at(p)].other[at(slot)][at(of_n + eb)] -= v_eb[at(eb)];
  }
}

}
