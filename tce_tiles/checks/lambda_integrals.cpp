#include <algorithm>
#include <utility>

#include "cxx/base/blas.hpp"
#include "cxx/base/share_among_threads.hpp"
#include "tce_tiles/checks/lambda_equation.hpp"
#include "tce_tiles/checks/small_operations.hpp"
#include "tce_tiles/checks/sum_spins.hpp"
#include "tce_tiles/tiles/interruptible_source.hpp"

namespace trifuse {

std::span<const double> LambdaEquation::row(int s, std::int64_t n, Numbers& memory) const {
  memory.resize(at(v(s) * auxiliary_));
  factors_.read_ov({holes_of(s), n, 1}, {particles_of(s), 0, v(s)}, memory);
  return memory;
}

void LambdaEquation::particle_row(int s, std::int64_t n, Numbers& out) const {
  static_cast<void>(row(s, n, out));
  add_scaled(1.0, singles_vo_[at(s)].data() + n * v(s) * auxiliary_, out);
  multiply_add(true, false, v(s), auxiliary_, o(s), -1.0, t1(s).data(), v(s),
               hole_pairs_[at(s)].data() + n * auxiliary_, o(s) * auxiliary_, out.data(), auxiliary_);
}

/// Prepares the combination x, and the factors with two holes.
void LambdaEquation::prepare_holes(int s) {
  const std::int64_t size = o(s) * o(s) * auxiliary_;
  Numbers &pairs = hole_pairs_[at(s)], &singles = singles_oo_[at(s)], memory;
  pairs.assign(at(size), 0.0);
  singles.assign(at(size), 0.0);
  Combination& of_x = x(s);
  of_x.x = problem_.combination(s);
  of_x.lambda1.assign(at(v(s)), 0.0);
  of_x.of_virtuals.assign(at(v(s) * auxiliary_), 0.0);
  of_x.of_holes.assign(at(o(s) * auxiliary_), 0.0);
  of_x.direct.assign(at(v(s) * auxiliary_), 0.0);
  if (size * v(s) == 0) return;
  factors_.read_oo({holes_of(s), 0, o(s)}, {holes_of(s), 0, o(s)}, pairs);
  for (std::int64_t k = 0; k < o(s); ++k) {
    const double x_k = of_x.x[at(k)];
    const std::span<const double> factors = row(s, k, memory);
    multiply_add(false, false, o(s), auxiliary_, v(s), 1.0, t1(s).data(), factors.data(),
                 singles.data() + k * o(s) * auxiliary_);
    add_scaled(x_k, factors.data(), of_x.of_virtuals);
    add_scaled(x_k, l1(s).data() + k * v(s), of_x.lambda1);
    multiply_add(false, false, 1, auxiliary_, v(s), both(), t1(s).data() + k * v(s), factors.data(),
                 mean_field_.data());
  }
  add_scaled(1.0, singles.data(), pairs);
  for (std::int64_t k = 0; k < o(s); ++k) {
    add_scaled(of_x.x[at(k)], pairs.data() + k * o(s) * auxiliary_, of_x.of_holes);
  }
}

/// Prepares sum_k x_k lambda_kj^ab.
void LambdaEquation::prepare_amplitudes(int s, const std::atomic<bool>* stop) {
  Combination& of_x = x(s);
  Numbers slab;
  for (int r = 0; r < spins(); ++r) {
    Numbers& sum = of_x.lambda2[at(r)];
    sum.assign(at(o(r) * v(s) * v(r)), 0.0);
    if (empty(s, r)) continue;
    slab.resize(sum.size());
    for (std::int64_t k = 0; k < o(s); ++k) {
      stop_reading(stop);
      left_.read_t2(s, r, k, 0, o(r), slab);
      add_scaled(of_x.x[at(k)], slab.data(), sum);
    }
    of_x.mu[at(r)] = sum;
    if (problem_.restricted) sum_spins(o(r), v(r), of_x.mu[at(r)].data());
  }
}

/// Prepares the integrals with x of hole m of spin r.
void LambdaEquation::prepare_integrals(int r, std::int64_t m, std::array<Numbers, 2>& memory) {
  const std::int64_t width = auxiliary_;
  const std::span<const double> of_m = row(r, m, memory[0]);
  Numbers& particles = memory[1];
  particle_row(r, m, particles);
  Numbers coulomb(at(width), 0.0);
  multiply_add(false, false, 1, width, v(r), both(), l1(r).data() + m * v(r), particles.data(), coulomb.data());
  for (int s = 0; s < spins(); ++s) {
    Combination& of_x = x(s);
    const std::int64_t o_s = o(s), v_s = v(s);
    multiply_add(false, true, v(r), o_s, width, 1.0, of_m.data(), of_x.of_holes.data(),
                 of_x.ov_oo[at(r)].data() + m * v(r) * o_s);
    multiply_add(false, true, v(r), v_s, width, 1.0, of_m.data(), of_x.of_virtuals.data(),
                 of_x.ov_ov[at(r)].data() + m * v(r) * v_s);
    multiply_add(false, true, o(r), v_s, width, 1.0, hole_pairs_[at(r)].data() + m * o(r) * width,
                 of_x.of_virtuals.data(), of_x.oo_ov[at(r)].data() + m * o(r) * v_s);
    multiply_add(false, true, o_s, v(r), width, 1.0, of_x.of_holes.data(), width, particles.data(), width,
                 of_x.hole_vo[at(r)].data() + m * v(r), o(r) * v(r));
    if (empty(s, r)) continue;
    Numbers direct(at(v_s * width), 0.0);
    multiply_add(false, false, v_s, width, v(r), 1.0, of_x.mu[at(r)].data() + m * v_s * v(r), particles.data(),
                 direct.data());
    const std::lock_guard lock(mutex_);
    add_scaled(1.0, direct.data(), of_x.direct);
  }
  const std::lock_guard lock(mutex_);
  add_scaled(1.0, coulomb.data(), coulomb_);
}

void LambdaEquation::prepare(int threads, const std::atomic<bool>* stop) {
  mean_field_.assign(at(auxiliary_), 0.0);
  coulomb_.assign(at(auxiliary_), 0.0);
  for (int s = 0; s < spins(); ++s) {
    prepare_holes(s);
    prepare_amplitudes(s, stop);
    const std::int64_t holes = o(s), particles = v(s);
    Numbers& singles = singles_vo_[at(s)];
    singles.assign(at(holes * particles * auxiliary_), 0.0);
    if (singles.empty()) continue;
    factors_.visit_vv(particles_of(s), 0, auxiliary_, threads, [&](const FactorBand& band) {
      stop_reading(stop);
      Numbers of_q(at(holes * particles));
      for (std::int64_t q = 0; q < band.count; ++q) {
        std::fill(of_q.begin(), of_q.end(), 0.0);
        multiply_add(false, true, holes, particles, particles, 1.0, t1(s).data(),
                     band.planes + q * particles * particles, of_q.data());
        for (std::size_t na = 0; na < of_q.size(); ++na) singles[na * at(auxiliary_) + at(band.begin + q)] = of_q[na];
      }
    });
  }
  std::vector<std::pair<int, std::int64_t>> rows;
  for (int r = 0; r < spins(); ++r) {
    for (int s = 0; s < spins(); ++s) {
      Combination& of_x = x(s);
      of_x.ov_oo[at(r)].assign(at(o(r) * v(r) * o(s)), 0.0);
      of_x.ov_ov[at(r)].assign(at(o(r) * v(r) * v(s)), 0.0);
      of_x.oo_ov[at(r)].assign(at(o(r) * o(r) * v(s)), 0.0);
      of_x.hole_vo[at(r)].assign(at(o(s) * o(r) * v(r)), 0.0);
    }
    for (std::int64_t m = 0; m < o(r) && v(r) > 0; ++m) rows.emplace_back(r, m);
  }
  share_among_threads<std::array<Numbers, 2>>(rows.size(), threads, [&](std::size_t k, std::array<Numbers, 2>& memory) {
    prepare_integrals(rows[k].first, rows[k].second, memory);
  });
}

}
