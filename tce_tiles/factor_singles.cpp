#include "tce_tiles/factor_singles.hpp"

#include <algorithm>
#include <cstddef>
#include <span>

#include "cxx/base/blas.hpp"
#include "cxx/base/share_among_threads.hpp"

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

FactorSingles::FactorSingles(const FactorSource& factors, const std::array<std::int64_t, 2>& occupied,
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
  const std::lock_guard lock(mutex_);
  Buffer& to = sums_[at(u)][at(n)];
  if (to.size() == 0) {
    to = std::move(sum);
    return;
  }
  for (std::size_t k = 0; k < to.size(); ++k) to.data()[k] += sum.data()[k];
}

std::vector<double> FactorSingles::take_residual(int u, int threads) {
  const std::int64_t v = virtuals(u), auxiliary = factors_.auxiliary();
  std::vector<std::int64_t> orbitals;
  for (std::int64_t n = 0; n < occupied(u); ++n) {
    if (sums_[at(u)][at(n)].size() > 0) orbitals.push_back(n);
  }
  const std::int64_t count = std::ssize(orbitals);
  std::vector<double> found(at(count * v), 0.0), residual(at(occupied(u) * v), 0.0);
  // The buffers of one thread: the factors of f, the sums of f, and the part of the residual.
  struct State {
    Buffer factors, sums;
    std::vector<double> part;
  };
  share_with_turns<State>(at(count > 0 ? v : 0), threads, false, [&](std::size_t n, State& state, auto& lock) {
    const auto f = static_cast<std::int64_t>(n);
    const std::span<double> factors = doubles(state.factors, auxiliary * v);
    const std::span<double> sums = doubles(state.sums, count * auxiliary);
    factors_.read_vv({particles(u), f, 1}, all_virtuals(u), factors);
    for (std::int64_t k = 0; k < count; ++k) {
      std::copy_n(sums_[at(u)][at(orbitals[at(k)])].data() + f * auxiliary, auxiliary, sums.data() + k * auxiliary);
    }
    state.part.assign(found.size(), 0.0);
    multiply_add(false, false, count, v, auxiliary, 1.0, sums.data(), auxiliary, factors.data(), v, state.part.data(),
                 v);
    lock.lock();
    for (std::size_t k = 0; k < found.size(); ++k) found[k] += state.part[k];
  });
  for (std::int64_t k = 0; k < count; ++k) {
    std::copy_n(found.begin() + k * v, v, residual.begin() + orbitals[at(k)] * v);
    sums_[at(u)][at(orbitals[at(k)])] = Buffer();
  }
  return residual;
}

}  // namespace trifuse
