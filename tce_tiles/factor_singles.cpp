#include "tce_tiles/factor_singles.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

#include "cxx/base/blas.hpp"

namespace trifuse {
namespace {

std::size_t at(std::int64_t n) {
  return static_cast<std::size_t>(n);
}

OrbitalClass holes(int s) {
  return s == 0 ? OrbitalClass::hole_alpha : OrbitalClass::hole_beta;
}

OrbitalClass particles(int s) {
  return s == 0 ? OrbitalClass::particle_alpha : OrbitalClass::particle_beta;
}

/// The first `count` doubles of a buffer.
std::span<double> doubles(Buffer& buffer, std::int64_t count) {
  buffer.reserve(at(count));
  return buffer.span().first(at(count));
}

}  // namespace

FactorSingles::FactorSingles(const DenseFactors& factors, const std::array<std::int64_t, 2>& occupied,
                             const std::array<std::int64_t, 2>& virtuals)
    : factors_(factors), occupied_(occupied), virtuals_(virtuals) {
  for (std::size_t s = 0; s < 2; ++s) sums_[s].resize(at(occupied[s]));
}

ClassOrbitals FactorSingles::all_virtuals(int s) const {
  return {particles(s), 0, virtuals(s)};
}

std::int64_t FactorSingles::thread_bytes() const {
  return 2 * static_cast<std::int64_t>(sizeof(double)) * std::max(virtuals(0), virtuals(1)) * factors_.auxiliary();
}

void FactorSingles::add(int u, int s, std::int64_t n, const double* tau) {
  const std::int64_t v_u = virtuals(u), v_s = virtuals(s), auxiliary = factors_.auxiliary();
  if (v_u * v_s * occupied(s) == 0) return;
  thread_local Buffer rows;
  const std::span<double> of_i = doubles(rows, v_s * auxiliary);
  Buffer sum(at(v_u * auxiliary));
  std::fill_n(sum.data(), sum.size(), 0.0);
  for (std::int64_t i = 0; i < occupied(s); ++i) {
    factors_.read_ov({holes(s), i, 1}, all_virtuals(s), of_i);
    multiply_add(false, false, v_u, auxiliary, v_s, 1.0, tau + i * v_u * v_s, v_s, of_i.data(), auxiliary, sum.data(),
                 auxiliary);
  }
  add_to_sum(u, n, std::move(sum));
}

void FactorSingles::add_exchange(int u, std::int64_t n, const double* t1) {
  const std::int64_t o = occupied(u), v = virtuals(u), auxiliary = factors_.auxiliary();
  if (o * v == 0) return;
  thread_local Buffer rows;
  const std::span<double> of_n = doubles(rows, o * auxiliary);
  factors_.read_oo({holes(u), 0, o}, {holes(u), n, 1}, of_n);
  Buffer sum(at(v * auxiliary));
  std::fill_n(sum.data(), sum.size(), 0.0);
  multiply_add(true, false, v, auxiliary, o, -1.0, t1, v, of_n.data(), auxiliary, sum.data(), auxiliary);
  add_to_sum(u, n, std::move(sum));
}

void FactorSingles::add_to_sum(int u, std::int64_t n, Buffer part) {
  const std::lock_guard lock(mutex_);
  Buffer& to = sums_[at(u)][at(n)];
  if (to.size() == 0) {
    to = std::move(part);
    return;
  }
  for (std::size_t k = 0; k < to.size(); ++k) to.data()[k] += part.data()[k];
}

std::vector<double> FactorSingles::take_residual(int u, int threads) {
  const std::int64_t v = virtuals(u), auxiliary = factors_.auxiliary();
  std::vector<std::int64_t> orbitals;
  for (std::int64_t n = 0; n < occupied(u); ++n) {
    if (sums_[at(u)][at(n)].size() > 0) orbitals.push_back(n);
  }
  const std::int64_t count = std::ssize(orbitals);
  std::vector<double> found(at(count * v), 0.0), residual(at(occupied(u) * v), 0.0);
  if (count > 0) {
    factors_.visit_vv(particles(u), 0, auxiliary, threads, [&](const FactorBand& band) {
      thread_local Buffer buffer;
      const std::int64_t width = band.count * v;
      const std::span<double> sums = doubles(buffer, count * width);  // [n,Q,f]
      for (std::int64_t k = 0; k < count; ++k) {
        const double* from = sums_[at(u)][at(orbitals[at(k)])].data() + band.begin;
        for (std::int64_t f = 0; f < v; ++f, from += auxiliary) {
          for (std::int64_t q = 0; q < band.count; ++q) sums[at(k * width + q * v + f)] = from[q];
        }
      }
      std::vector<double> part(found.size(), 0.0);
      multiply_add(false, false, count, v, width, 1.0, sums.data(), width, band.planes, v, part.data(), v);
      const std::lock_guard lock(mutex_);
      for (std::size_t k = 0; k < found.size(); ++k) found[k] += part[k];
    });
  }
  for (std::int64_t k = 0; k < count; ++k) {
    std::copy_n(found.begin() + k * v, v, residual.begin() + orbitals[at(k)] * v);
    sums_[at(u)][at(orbitals[at(k)])] = Buffer();
  }
  return residual;
}

}  // namespace trifuse
