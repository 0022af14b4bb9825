#include "tce_tiles/checks/lambda_equation.hpp"

#include <algorithm>
#include <utility>

#include "cxx/base/blas.hpp"
#include "cxx/base/share_among_threads.hpp"
#include "tce_tiles/checks/small_operations.hpp"
#include "tce_tiles/tiles/interruptible_source.hpp"

namespace trifuse {
LambdaEquation::LambdaEquation(LambdaProblem problem, const SinglesSlabs& right, const SinglesSlabs& left,
                               const FactorSource& factors, std::int64_t most_doubles)
    : problem_(std::move(problem)),
      right_(right),
      left_(left),
      factors_(factors),
      auxiliary_(factors.auxiliary()),
      most_doubles_(most_doubles) {}

template <typename Visit>
void LambdaEquation::for_each_sum(LambdaSums& sums, Visit visit) const {
  for (int s = 0; s < spins(); ++s) {
    LambdaSums::OfSpin& of = sums.spin[at(s)];
    visit(of.eta, v(s));
    visit(of.direct, v(s) * auxiliary_);
    visit(of.q, o(s));
    visit(of.g, v(s) * v(s));
    visit(of.h, o(s) * o(s));
    visit(of.z, o(s) * v(s));
    for (int r = 0; r < spins(); ++r) {
      visit(of.y[at(r)], o(s) * o(r) * v(r));
      visit(of.w[at(r)], o(s) * o(r) * o(r));
      visit(of.exchange[at(r)], o(s) * v(r) * v(r));
    }
  }
}

template <typename Visit>
void LambdaEquation::visit_particles(int s, int threads, const std::atomic<bool>* stop, Visit visit) const {
  const std::int64_t holes = o(s), particles = v(s);
  // The factors of one function are far apart in memory, so each thread copies the factors of a band.
  Numbers all(at(holes * particles * auxiliary_));
  if (holes * particles == 0) return;
  factors_.read_ov({holes_of(s), 0, holes}, {particles_of(s), 0, particles}, all);
  factors_.visit_vv(particles_of(s), 0, auxiliary_, threads, [&](const FactorBand& band) {
    stop_reading(stop);
    Numbers planes(band.planes, band.planes + band.count * particles * particles), of_holes(at(holes * particles));
    for (std::int64_t q = 0; q < band.count; ++q) {
      for (std::int64_t me = 0; me < holes * particles; ++me) {
        of_holes[at(me)] = all[at(me * auxiliary_ + band.begin + q)];
      }
      multiply_add(true, false, particles, particles, holes, -1.0, t1(s).data(), of_holes.data(),
                   planes.data() + q * particles * particles);
    }
    visit(band, planes.data());
  });
}

std::vector<double> LambdaEquation::run(int part, int parts, int threads, const std::atomic<bool>* stop) {
  prepare(threads, stop);
  for_each_sum(sums_, [](Numbers& each, std::int64_t size) { each.assign(at(size), 0.0); });
  std::vector<std::pair<int, std::int64_t>> jobs;
  for (int p = 0; p < spins(); ++p) {
    for (std::int64_t n = part; n < o(p) && v(p) > 0; n += parts) jobs.emplace_back(p, n);
  }
  share_among_threads<LambdaSlabs>(jobs.size(), threads, [&](std::size_t k, LambdaSlabs& slabs) {
    stop_reading(stop);
    add_orbital(jobs[k].first, jobs[k].second, slabs);
  });
  for (int s = 0; s < spins(); ++s) {
    for (int r = 0; r < spins(); ++r) add_ladder(s, r, part, parts, threads, stop);
  }
  std::vector<double> all;
  for_each_sum(sums_, [&](const Numbers& each, std::int64_t) { all.insert(all.end(), each.begin(), each.end()); });
  sums_ = {};
  return all;
}

/// Adds -w sum lambda_ni^cb t_ni^ef (xe|bf), a few orbitals e at a time.
void LambdaEquation::add_ladder(int s, int r, int part, int parts, int threads, const std::atomic<bool>* stop) {
  if (empty(s, r)) return;
  const std::int64_t page = v(r) * v(r), step = std::clamp<std::int64_t>(most_doubles_ / page, 1, v(s));
  for (std::int64_t first = 0; first < v(s); first += step) {
    const std::int64_t count = std::min(step, v(s) - first);
    Numbers integrals(at(count * page), 0.0);  // (xe|bf) as [e,b,f]
    constexpr std::int64_t stripes = 16;
    std::array<std::mutex, stripes> locks;
    visit_particles(r, threads, stop, [&](const FactorBand& band, const double* planes) {
      // Threads begin with different stripes of orbitals e.
      for (std::int64_t k = 0; k < stripes; ++k) {
        const std::int64_t stripe = (band.begin + k) % stripes, begin = count * stripe / stripes;
        const std::lock_guard lock(locks[at(stripe)]);
        multiply_add(false, false, count * (stripe + 1) / stripes - begin, page, band.count, 1.0,
                     x(s).of_virtuals.data() + (first + begin) * auxiliary_ + band.begin, auxiliary_, planes, page,
                     integrals.data() + begin * page, page);
      }
    });
    const std::int64_t jobs = (o(s) - part + parts - 1) / parts;
    share_among_threads<LambdaSlabs>(
        at(std::max<std::int64_t>(0, jobs)), threads, [&](std::size_t k, LambdaSlabs& slabs) {
          stop_reading(stop);
          add_ladder_of(s, r, part + static_cast<std::int64_t>(k) * parts, first, count, integrals, slabs);
        });
  }
}

/// Returns F_me, [m,e].
LambdaEquation::Numbers LambdaEquation::fock_ov(int s) const {
  Numbers result(at(o(s) * v(s))), memory;
  const std::int64_t width = auxiliary_;
  for (std::int64_t m = 0; m < o(s); ++m) {
    for (std::int64_t e = 0; e < v(s); ++e) result[at(m * v(s) + e)] = fock(s, m, o(s) + e);
  }
  for (std::int64_t n = 0; n < o(s) && v(s) > 0; ++n) {
    const std::span<const double> of_n = row(s, n, memory);
    multiply_add(false, true, 1, v(s), width, 1.0, mean_field_.data(), of_n.data(), result.data() + n * v(s));
    multiply_add(false, true, o(s), v(s), width, -1.0, singles_oo_[at(s)].data() + n * width, o(s) * width, of_n.data(),
                 width, result.data(), v(s));
  }
  return result;
}

/// Returns F_xi, [i].
LambdaEquation::Numbers LambdaEquation::fock_row(int s) const {
  const Combination& of_x = x(s);
  const std::int64_t width = auxiliary_;
  Numbers result(at(o(s)), 0.0), exchanged(at(o(s) * width), 0.0);
  multiply_add(false, false, o(s), width, v(s), 1.0, t1(s).data(), of_x.of_virtuals.data(), exchanged.data());
  for (std::int64_t i = 0; i < o(s); ++i) {
    double sum = dot(width, of_x.of_holes.data() + i * width, mean_field_.data());
    for (std::int64_t k = 0; k < o(s); ++k) {
      double f_ki = fock(s, k, i);
      for (std::int64_t e = 0; e < v(s); ++e) f_ki += fock(s, k, o(s) + e) * t1(s)[at(i * v(s) + e)];
      sum += of_x.x[at(k)] * f_ki;
      sum -= dot(width, exchanged.data() + k * width, hole_pairs_[at(s)].data() + (k * o(s) + i) * width);
    }
    result[at(i)] = sum;
  }
  return result;
}

/// Adds the terms of F, except the parts of F_ac that P and R contain.
void LambdaEquation::add_fock_terms(int s, const LambdaSums::OfSpin& sums, Numbers& eta) const {
  const Combination& of_x = x(s);
  const Numbers fock_me = fock_ov(s), fock_xi = fock_row(s);
  Numbers fock_xe(at(v(s)), 0.0), by_hole(at(o(s)), 0.0);  // the factors of F_mc
  for (std::int64_t m = 0; m < o(s); ++m) {
    add_scaled(of_x.x[at(m)], fock_me.data() + m * v(s), fock_xe);
    by_hole[at(m)] = of_x.x[at(m)];
    for (std::int64_t k = 0; k < o(s); ++k) by_hole[at(m)] -= of_x.x[at(k)] * sums.h[at(k * o(s) + m)];
  }
  for (std::int64_t m = 0; m < o(s); ++m) {
    const double singles = dot(v(s), of_x.lambda1.data(), t1(s).data() + m * v(s));
    for (std::int64_t c = 0; c < v(s); ++c) {
      eta[at(c)] += by_hole[at(m)] * fock_me[at(m * v(s) + c)] - singles * fock(s, m, o(s) + c) -
                    (fock_xi[at(m)] + sums.q[at(m)]) * l1(s)[at(m * v(s) + c)];
    }
  }
  for (std::int64_t c = 0; c < v(s); ++c) {
    eta[at(c)] -= dot(v(s), sums.g.data() + c * v(s), fock_xe.data());
    for (std::int64_t a = 0; a < v(s); ++a) eta[at(c)] += of_x.lambda1[at(a)] * fock(s, o(s) + a, o(s) + c);
  }
}

/// Returns P_bQ.
LambdaEquation::Numbers LambdaEquation::sums_of_particles(int s, const LambdaSums::OfSpin& sums) const {
  const Combination& of_x = x(s);
  const std::int64_t width = auxiliary_;
  Numbers result = sums.direct;
  add_scaled(1.0, of_x.direct.data(), result);
  multiply_add(false, false, v(s), width, 1, 1.0, of_x.lambda1.data(), mean_field_.data(), result.data());
  multiply_add(true, false, v(s), width, o(s), -1.0, l1(s).data(), of_x.of_holes.data(), result.data());
  multiply_add(false, false, v(s), width, v(s), -1.0, sums.g.data(), of_x.of_virtuals.data(), result.data());
  return result;
}

/// Returns R_mQ, without the part of the factors of two particles.
LambdaEquation::Numbers LambdaEquation::sums_of_holes(int s, const LambdaSums::OfSpin& sums) const {
  const Combination& of_x = x(s);
  const std::int64_t width = auxiliary_;
  Numbers result(at(o(s) * width), 0.0), memory;
  multiply_add(false, false, o(s), width, v(s), -1.0, sums.z.data(), of_x.of_virtuals.data(), result.data());
  multiply_add(true, false, o(s), width, o(s), 1.0, sums.h.data(), of_x.of_holes.data(), result.data());
  Numbers singles(at(o(s)), 0.0);  // sum_a lambda_xa t_ma
  multiply_add(false, false, o(s), 1, v(s), 1.0, t1(s).data(), of_x.lambda1.data(), singles.data());
  for (std::int64_t n = 0; n < o(s); ++n) {
    multiply_add(false, false, 1, width, v(s), -1.0, of_x.lambda1.data(), singles_vo_[at(s)].data() + n * v(s) * width,
                 result.data() + n * width);
    multiply_add(false, false, 1, width, o(s), 1.0, singles.data(), o(s), singles_oo_[at(s)].data() + n * width,
                 o(s) * width, result.data() + n * width, width);
  }
  for (int r = 0; r < spins(); ++r) {
    for (std::int64_t i = 0; i < o(r) && !empty(s, r); ++i) {
      const std::span<const double> of_i = row(r, i, memory);
      multiply_add(false, false, o(s), width, v(r), -1.0, sums.y[at(r)].data() + i * v(r), o(r) * v(r), of_i.data(),
                   width, result.data(), width);
    }
    multiply_add(false, false, o(s), width, o(r) * o(r), 1.0, sums.w[at(r)].data(), hole_pairs_[at(r)].data(),
                 result.data());
  }
  return result;
}

/// Returns A_Q, without the part of the factors of two particles.
LambdaEquation::Numbers LambdaEquation::coulomb_sums(const LambdaSums& sums) const {
  Numbers result = coulomb_, memory;
  const std::int64_t width = auxiliary_;
  for (int s = 0; s < spins(); ++s) {
    const LambdaSums::OfSpin& of = sums.spin[at(s)];
    for (std::int64_t m = 0; m < o(s) && v(s) > 0; ++m) {
      const std::span<const double> of_m = row(s, m, memory);
      multiply_add(false, false, 1, width, v(s), both(), of.z.data() + m * v(s), of_m.data(), result.data());
      for (std::int64_t j = 0; j < o(s); ++j) {
        add_scaled(-both() * of.h[at(j * o(s) + m)], hole_pairs_[at(s)].data() + (m * o(s) + j) * width, result);
      }
    }
  }
  return result;
}

LambdaResidual LambdaEquation::residual(std::span<const double> sums, int threads, const std::atomic<bool>* stop) {
  LambdaSums all;
  for_each_sum(all, [&](Numbers& each, std::int64_t size) {
    each.assign(sums.begin(), sums.begin() + size);
    sums = sums.subspan(at(size));
  });
  const std::int64_t width = auxiliary_;
  std::array<Numbers, 2> eta, particles, holes;
  Numbers coulomb = coulomb_sums(all), memory;
  for (int s = 0; s < spins(); ++s) {
    eta[at(s)] = all.spin[at(s)].eta;
    add_fock_terms(s, all.spin[at(s)], eta[at(s)]);
    particles[at(s)] = sums_of_particles(s, all.spin[at(s)]);
    holes[at(s)] = sums_of_holes(s, all.spin[at(s)]);
  }
  for (int r = 0; r < spins(); ++r) {
    const std::int64_t page = v(r) * v(r);
    visit_particles(r, threads, stop, [&](const FactorBand& band, const double* planes) {
      Numbers part(at(v(r)), 0.0);
      for (std::int64_t k = 0; k < band.count; ++k) {
        const std::int64_t q = band.begin + k;
        const double* const plane = planes + k * page;
        coulomb[at(q)] += both() * dot(page, all.spin[at(r)].g.data(), plane);
        for (std::int64_t b = 0; b < v(r); ++b) {
          const double factor = particles[at(r)][at(b * width + q)];
          for (std::int64_t c = 0; c < v(r); ++c) part[at(c)] += factor * plane[b * v(r) + c];
        }
      }
      for (int s = 0; s < spins(); ++s) {
        multiply_add(false, true, o(s), band.count, page, -1.0, all.spin[at(s)].exchange[at(r)].data(), page, planes,
                     page, holes[at(s)].data() + band.begin, width);
      }
      const std::lock_guard lock(mutex_);
      add_scaled(1.0, part.data(), eta[at(r)]);
    });
  }
  for (int s = 0; s < spins(); ++s) {
    multiply_add(false, true, 1, v(s), width, 1.0, coulomb.data(), x(s).of_virtuals.data(), eta[at(s)].data());
    for (std::int64_t m = 0; m < o(s) && v(s) > 0; ++m) {
      const std::span<const double> of_m = row(s, m, memory);
      multiply_add(false, true, 1, v(s), width, 1.0, holes[at(s)].data() + m * width, of_m.data(), eta[at(s)].data());
    }
  }
  return problem_.largest_step(eta);
}

}
