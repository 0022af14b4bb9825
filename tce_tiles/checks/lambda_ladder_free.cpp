#include "tce_tiles/checks/lambda_ladder_free.hpp"

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "cxx/base/blas.hpp"
#include "cxx/base/share_among_threads.hpp"
#include "tce_tiles/checks/small_operations.hpp"
#include "tce_tiles/tiles/interruptible_source.hpp"

namespace trifuse {

LambdaLadderFree::LambdaLadderFree(LambdaProblem problem, const DenseSlabs& right, const SinglesSlabs& left,
                                   std::int64_t most_doubles)
    : problem_(std::move(problem)), right_(right), left_(left), most_doubles_(most_doubles) {
  for (int s = 0; s < spins(); ++s) x_[at(s)] = problem_.combination(s);
}

std::vector<LambdaLadderFree::Sum> LambdaLadderFree::sums_of(int pass) {
  std::vector<Sum> all;
  const auto add = [&all](std::initializer_list<Numbers*> arrays, std::int64_t size) {
    for (Numbers* each : arrays) all.push_back({each, at(size)});
  };
  for (int s = 0; s < spins(); ++s) {
    const std::int64_t o_s = o(s), v_s = v(s);
    First& a = first_[at(s)];
    Second& b = second_[at(s)];
    Third& c = third_[at(s)];
    if (pass == 0) {
      add({&a.nu, &a.k, &a.j}, o_s * v_s);
      add({&a.g, &a.p}, v_s * v_s);
      add({&a.h, &a.q, &a.m}, o_s * o_s);
      add({&a.xo_vv}, o_s * v_s * v_s);
    }
    if (pass == 1) add({&b.b, &b.n}, o_s * v_s);
    if (pass == 2) add({&c.k}, v_s * v_s);
    if (pass > 0) add({pass == 1 ? &b.eta : &c.eta}, v_s);
    for (int kind = 0; kind < 2; ++kind) {
      const std::int64_t o_r = o(other(s, kind)), v_r = v(other(s, kind));
      if (pass == 0) {
        add({&a.lambda_x[at(kind)]}, o_r * v_s * v_r);
        add({&a.xv_oo[at(kind)]}, v_s * o_r * o_r);
        add({&a.ov_xo[at(kind)]}, o_r * v_r * o_s);
        add({&a.xv_ov[at(kind)]}, v_s * o_r * v_r);
      } else if (pass == 1 && has_integrals(kind)) {
        add({&b.direct[at(kind)]}, o_s * v_s * v_r);
        add({&b.other[at(kind)]}, o_s * v_r * v_r);
      }
    }
  }
  return all;
}

std::vector<double> LambdaLadderFree::run(int pass, int part, int parts, int threads, const std::atomic<bool>* stop) {
  const std::vector<Sum> sums = sums_of(pass);
  for (const Sum& each : sums) each.numbers->assign(each.size, 0.0);
  if (pass == 2) {
    for (int u = 0; u < spins(); ++u) {
      for (int kind = 0; kind < 2; ++kind) {
        if (has_integrals(kind)) add_third(u, kind, part, parts, threads, stop);
      }
    }
  } else {
    std::vector<std::pair<int, std::int64_t>> jobs;
    for (int p = 0; p < spins(); ++p) {
      for (std::int64_t n = part; n < o(p) && v(p) > 0; n += parts) jobs.emplace_back(p, n);
    }
    share_among_threads<LambdaSlabs>(jobs.size(), threads, [&](std::size_t k, LambdaSlabs& slabs) {
      stop_reading(stop);
      if (pass == 0) add_first(jobs[k].first, jobs[k].second, slabs);
      if (pass == 1) add_second(jobs[k].first, jobs[k].second, slabs);
    });
  }
  std::vector<double> all;
  for (const Sum& each : sums) all.insert(all.end(), each.numbers->begin(), each.numbers->end());
  return all;
}

void LambdaLadderFree::accept(int pass, std::span<const double> sums) {
  for (const Sum& each : sums_of(pass)) {
    std::copy_n(sums.begin(), each.size, each.numbers->begin());
    sums = sums.subspan(each.size);
  }
  if (pass == 0) finish_first();
}

/// Antisymmetrises the integrals with x, and computes what needs only sums of the first pass.
void LambdaLadderFree::finish_first() {
  for (int s = 0; s < spins(); ++s) {
    First& of = first_[at(s)];
    const std::int64_t o_s = o(s), v_s = v(s);
    sigma_[at(s)] = l1(s);
    add_scaled(-1.0, of.nu.data(), sigma_[at(s)]);
    d_[at(s)] = of.g;
    multiply_add(true, false, v_s, v_s, o_s, -1.0, of.nu.data(), t1(s).data(), d_[at(s)].data());
    e_[at(s)] = of.h;
    multiply_add(false, true, o_s, o_s, v_s, -1.0, of.nu.data(), t1(s).data(), e_[at(s)].data());
    if (problem_.restricted) {
      for (auto* each : {&of.xv_oo, &of.ov_xo, &of.xv_ov}) (*each)[0] = (*each)[1];
    }
  }
  for (int s = 0; s < spins(); ++s) {
    First& of = first_[at(s)];
    const std::int64_t o_s = o(s), v_s = v(s);
    Numbers& coulomb = coulomb_[at(s)];
    coulomb.assign(at(v_s), 0.0);
    for (int kind = 0; kind < 2; ++kind) {
      // Antisymmetrised (ij|ab) contains the other term of equal spins.
      if (is_asym(problem_.asym_oovv, s, kind)) continue;
      const Numbers& w = sigma_[at(other(s, kind))];
      multiply_add(false, false, v_s, 1, std::ssize(w), 1.0, of.xv_ov[at(kind)].data(), w.data(), coulomb.data());
    }
    contract_first(-1.0, o_s, v_s, v_s, of.xo_vv.data(), sigma_[at(s)].data(), coulomb.data());
    if (!is_asym(problem_.asym_ovoo, s, 0)) {
      for (std::int64_t e = 0; e < v_s; ++e) {
        for (std::int64_t nj = 0; nj < o_s * o_s; ++nj) {
          of.xv_oo[0][at(e * o_s * o_s + nj)] -= of.ov_xo[0][at((nj / o_s * v_s + e) * o_s + nj % o_s)];
        }
      }
    }
    if (is_asym(problem_.asym_ovov, s, 0)) continue;
    const Numbers plain = of.xv_ov[0];
    for (std::int64_t e = 0; e < v_s; ++e) {
      for (std::int64_t mf = 0; mf < o_s * v_s; ++mf) {
        of.xv_ov[0][at(e * o_s * v_s + mf)] -= plain[at((mf % v_s * o_s + mf / v_s) * v_s + e)];
      }
    }
  }
}

/// Adds the terms of the integrals (nf|ea) of one kind. A part has some orbitals f.
void LambdaLadderFree::add_third(int u, int kind, int part, int parts, int threads, const std::atomic<bool>* stop) {
  const int r = other(u, kind);
  if (problem_.empty(u, r)) return;
  const std::int64_t page = v(r) * v(r), end = v(u) * (part + 1) / parts;
  const std::int64_t step = std::max<std::int64_t>(1, most_doubles_ / page);
  constexpr std::int64_t read_doubles = std::int64_t{1} << 17;
  const std::int64_t width = std::clamp<std::int64_t>(read_doubles / (o(u) * page), 1, step);
  for (std::int64_t first = v(u) * part / parts; first < end; first += step) {
    const std::int64_t count = std::min(step, end - first);
    Numbers of_x(at(count * page), 0.0);  // (xf|ea) as [f,e,a]
    share_among_threads<char>(at((count + width - 1) / width), threads, [&](std::size_t k, char&) {
      stop_reading(stop);
      const std::int64_t begin = static_cast<std::int64_t>(k) * width;
      add_ovvv(u, kind, first + begin, std::min(width, count - begin), begin, of_x);
    });
    share_among_threads<LambdaSlabs>(at(o(u)), threads, [&](std::size_t i, LambdaSlabs& slabs) {
      stop_reading(stop);
      for (int each = 0; each < 2; ++each) {
        if (each == kind || problem_.restricted) {
          add_ladder(u, each, static_cast<std::int64_t>(i), first, count, of_x, slabs);
        }
      }
    });
  }
}

/// Adds the terms of `count` orbitals f from `first` on, and (xf|ea) to `of_x` from its row `begin` on.
void LambdaLadderFree::add_ovvv(int u, int kind, std::int64_t first, std::int64_t count, std::int64_t begin,
                                Numbers& of_x) {
  const int r = other(u, kind);
  const std::int64_t o_u = o(u), v_u = v(u), v_r = v(r), page = v_r * v_r;
  const bool asym = is_asym(problem_.asym_ovvv, u, kind), exchange = problem_.restricted || kind == 0;
  Numbers direct(at(v_r), 0.0), other(at(count), 0.0), k_direct(asym ? 0 : at(page), 0.0);
  Numbers k_exchange(exchange ? at(count * v_r) : 0, 0.0);  // [f,a]
  constexpr std::int64_t read_doubles = std::int64_t{1} << 22;
  const std::int64_t step = std::clamp<std::int64_t>(read_doubles / (count * page), 1, o_u);
  Numbers box(at(step * count * page));
  for (std::int64_t m = 0; m < o_u; m += step) {
    const std::int64_t holes = std::min(step, o_u - m);
    right_.read_ovvv(u, r, {m, holes}, {first, count}, std::span(box).first(at(holes * count * page)));
    for (std::int64_t n = m; n < m + holes; ++n) {
      const double* const integrals = box.data() + (n - m) * count * page;
      const Second& factors = second_[at(u)];
      if (!asym) {
        multiply_add(false, false, 1, v_r, count * v_r, 1.0, factors.direct[at(kind)].data() + (n * v_u + first) * v_r,
                     integrals, direct.data());
      }
      multiply_add(false, false, count, 1, page, 1.0, integrals, factors.other[at(kind)].data() + n * page,
                   other.data());
      for (std::int64_t f = 0; f < count; ++f) {
        const double* const of_f = integrals + f * page;
        add_scaled(problem_.both() * t1(u)[at(n * v_u + first + f)], of_f, k_direct);
        double* const x = of_x.data() + (begin + f) * page;
        for (std::int64_t ea = 0; ea < page; ++ea) x[ea] += x_[at(u)][at(n)] * of_f[ea];
        if (exchange) {
          multiply_add(false, false, 1, v_r, v_r, 1.0, t1(u).data() + n * v_u, of_f, k_exchange.data() + f * v_r);
        }
      }
    }
  }
  const std::lock_guard lock(mutex_);
  add_scaled(1.0, direct.data(), third_[at(r)].eta);
  for (std::int64_t f = 0; f < count; ++f) {
    third_[at(u)].eta[at(first + f)] += other[at(f)];
    for (std::int64_t b = 0; exchange && b < v_u; ++b) {
      third_[at(u)].k[at(b * v_u + first + f)] -= k_exchange[at(f * v_u + b)];
    }
  }
  for (std::size_t ea = 0; ea < k_direct.size(); ++ea) third_[at(r)].k[ea] += k_direct[ea];
}

/// Adds the term of tau_- and <xb||ef> in U. e is one of `count` orbitals from `first` on.
void LambdaLadderFree::add_ladder(int s, int kind, std::int64_t i, std::int64_t first, std::int64_t count,
                                  const Numbers& of_x, LambdaSlabs& slabs) {
  const int r = other(s, kind);
  const std::int64_t o_r = o(r), v_s = v(s), v_r = v(r);
  read(s, kind, i, slabs);
  add_singles(-1.0, s, kind, i, slabs.t2[at(kind)]);
  const double weight = (kind == 0 ? 0.5 : 1.0) * (is_asym(problem_.asym_ovvv, s, kind) ? 0.5 : 1.0);
  Numbers products(at(o_r * v_r), 0.0), eta(at(v_s), 0.0);
  multiply_add(false, false, o_r, v_r, count * v_r, weight, slabs.t2[at(kind)].data() + first * v_r, v_s * v_r,
               of_x.data(), v_r, products.data(), v_r);
  contract_last(-1.0, o_r, v_s, v_r, slabs.lambda2[at(kind)].data(), products.data(), eta.data());
  const std::lock_guard lock(mutex_);
  add_scaled(1.0, eta.data(), third_[at(s)].eta);
}

/// The terms of matrices, without those of N and B, which it returns in `big_n` and `big_b`.
LambdaLadderFree::Numbers LambdaLadderFree::final_eta(int s, Numbers& big_n, Numbers& big_b) const {
  const std::int64_t o_s = o(s), v_s = v(s);
  const Numbers &t = t1(s), &l = l1(s), &x = x_[at(s)];
  const First& of = first_[at(s)];
  const auto fov = [&](std::int64_t m, std::int64_t e) { return problem_.fock_element(s, m, o_s + e); };
  const auto of_x = [&](const Numbers& matrix, std::int64_t columns) {
    Numbers sum(at(columns), 0.0);
    for (std::int64_t k = 0; k < o_s; ++k) add_scaled(x[at(k)], matrix.data() + k * columns, sum);
    return sum;
  };
  Numbers f_ov(at(o_s * v_s));
  for (std::int64_t m = 0; m < o_s; ++m) {
    for (std::int64_t e = 0; e < v_s; ++e) f_ov[at(m * v_s + e)] = fov(m, e);
  }
  // X and Y.
  Numbers f_vv(at(v_s * v_s)), f_oo(at(o_s * o_s));
  for (std::int64_t b = 0; b < v_s; ++b) {
    for (std::int64_t e = 0; e < v_s; ++e) f_vv[at(b * v_s + e)] = problem_.fock_element(s, o_s + b, o_s + e);
  }
  for (std::int64_t m = 0; m < o_s; ++m) {
    for (std::int64_t j = 0; j < o_s; ++j) f_oo[at(m * o_s + j)] = problem_.fock_element(s, m, j);
  }
  Numbers big_x = f_vv, big_y = f_oo;
  multiply_add(true, false, v_s, v_s, o_s, -1.0, t.data(), f_ov.data(), big_x.data());
  multiply_add(false, true, o_s, o_s, v_s, 1.0, f_ov.data(), t.data(), big_y.data());
  add_scaled(2.0, third_[at(s)].k.data(), big_x);
  add_scaled(-1.0, of.p.data(), big_x);
  add_scaled(2.0, of.m.data(), big_y);
  add_scaled(1.0, of.q.data(), big_y);
  big_n = second_[at(s)].n;
  add_scaled(1.0, of.j.data(), big_n);
  multiply_add(false, true, o_s, v_s, v_s, 1.0, t.data(), big_x.data(), big_n.data());
  multiply_add(true, false, o_s, v_s, o_s, -1.0, big_y.data(), t.data(), big_n.data());
  big_b = second_[at(s)].b;
  Numbers singles(at(o_s * o_s), 0.0);
  multiply_add(false, true, o_s, o_s, v_s, 2.0, t.data(), l.data(), singles.data());
  multiply_add(false, false, o_s, v_s, o_s, 1.0, singles.data(), t.data(), big_b.data());
  // Scalars are sums over both spins.
  double lt = 0.0, nt = 0.0, tf = 0.0, tk = 0.0;
  for (int r = 0; r < spins(); ++r) {
    const std::int64_t count = o(r) * v(r);
    lt += problem_.both() * dot(count, l1(r).data(), t1(r).data());
    nt += problem_.both() * dot(count, first_[at(r)].nu.data(), t1(r).data());
    tk += problem_.both() * dot(count, first_[at(r)].k.data(), t1(r).data());
    for (std::int64_t m = 0; m < o(r); ++m) {
      for (std::int64_t e = 0; e < v(r); ++e) {
        tf += problem_.both() * problem_.fock_element(r, m, o(r) + e) * t1(r)[at(m * v(r) + e)];
      }
    }
  }
  const Numbers l_x = of_x(l, v_s), nu_x = of_x(of.nu, v_s), k_x = of_x(of.k, v_s), f_x = of_x(f_ov, v_s),
                sigma_x = of_x(sigma_[at(s)], v_s), q_x = of_x(of.q, o_s), h_x = of_x(of.h, o_s),
                y_x = of_x(big_y, o_s), foo_x = of_x(f_oo, o_s);
  Numbers eta(at(v_s), 0.0);
  add_scaled(1.0 - lt, f_x.data(), eta);
  add_scaled(-tf, l_x.data(), eta);
  add_scaled(-tk, sigma_x.data(), eta);
  add_scaled(nt - 2.0 * lt, k_x.data(), eta);
  for (std::int64_t a = 0; a < v_s; ++a) {
    add_scaled(l_x[at(a)], f_vv.data() + a * v_s, eta);
    add_scaled(-l_x[at(a)], of.p.data() + a * v_s, eta);
    add_scaled(-nu_x[at(a)], big_x.data() + a * v_s, eta);
    eta[at(a)] -= dot(v_s, of.g.data() + a * v_s, f_x.data());
  }
  for (std::int64_t m = 0; m < o_s; ++m) {
    const std::int64_t row = m * v_s;
    add_scaled(2.0 * dot(v_s, k_x.data(), t.data() + row) - foo_x[at(m)] - q_x[at(m)], l.data() + row, eta);
    add_scaled(2.0 * dot(v_s, l_x.data(), t.data() + row), of.k.data() + row, eta);
    add_scaled(-h_x[at(m)], f_ov.data() + row, eta);
    add_scaled(y_x[at(m)], of.nu.data() + row, eta);
  }
  return eta;
}

LambdaResidual LambdaLadderFree::residual() const {
  std::array<Numbers, 2> big_n, big_b, eta;
  for (int s = 0; s < spins(); ++s) eta[at(s)] = final_eta(s, big_n[at(s)], big_b[at(s)]);
  for (int s = 0; s < spins(); ++s) {
    const First& of = first_[at(s)];
    Numbers& sum = eta[at(s)];
    for (const Numbers* each : {&coulomb_[at(s)], &second_[at(s)].eta, &third_[at(s)].eta}) {
      add_scaled(1.0, each->data(), sum);
    }
    for (int kind = 0; kind < 2; ++kind) {
      const int r = other(s, kind);
      const std::int64_t o_r = o(r);
      contract_last(-1.0, o_r, v(s), v(r), of.lambda_x[at(kind)].data(), big_n[at(r)].data(), sum.data());
      multiply_add(false, false, v(s), 1, o_r * v(r), 1.0, of.xv_ov[at(kind)].data(), big_b[at(r)].data(), sum.data());
      for (std::int64_t c = 0; c < v(s); ++c) {
        for (std::int64_t nj = 0; nj < o_r * o_r; ++nj) {
          sum[at(c)] -= e_[at(r)][at(nj % o_r * o_r + nj / o_r)] * of.xv_oo[at(kind)][at(c * o_r * o_r + nj)];
        }
      }
    }
  }
  return problem_.largest_step(eta);
}

}
