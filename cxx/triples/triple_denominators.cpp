#include "cxx/triples/triple_denominators.hpp"

#include <cstddef>
#include <utility>

namespace trifuse {

double denominator_of(const TripleDenominators& tables, Denominator denominator, const SpinElement& element) {
  struct Orbital {
    std::int64_t number;
    bool beta;
  };
  std::array<Orbital, 3> holes{}, particles{};
  for (std::size_t q = 0; q < 3; ++q) {
    holes[q] = {element.holes[q], static_cast<int>(q) == element.beta_hole};
    particles[q] = {element.particles[q], static_cast<int>(q) == element.beta_particle};
  }
  const auto at = [](const std::vector<double>& table, std::int64_t place) {
    return table[static_cast<std::size_t>(place)];
  };
  const std::int64_t n_h = tables.holes, n_p = tables.particles;
  double x = 0.0;
  for (const Orbital& i : holes) x += at(tables.h, i.number);
  for (const Orbital& a : particles) x -= at(tables.p, a.number);
  if (denominator == Denominator::one_body) return x;

  for (const Orbital& i : holes)
    for (const Orbital& a : particles) x -= at(tables.of(i.beta == a.beta).hp, i.number * n_p + a.number);
  for (std::size_t q = 0; q < 3; ++q) {
    for (std::size_t r = q + 1; r < 3; ++r) {
      const Orbital &i = holes[q], &j = holes[r], &a = particles[q], &b = particles[r];
      x -= at(tables.of(i.beta == j.beta).hh, i.number * n_h + j.number);
      x -= at(tables.of(a.beta == b.beta).pp, a.number * n_p + b.number);
    }
  }
  if (denominator == Denominator::two_body) return x;

  for (std::size_t q = 0; q < 3; ++q) {
    for (std::size_t r = q + 1; r < 3; ++r) {
      for (const Orbital& a : particles) {
        Orbital i = holes[q], j = holes[r];
        if (i.beta == j.beta && i.beta != a.beta) continue;
        if (i.beta != a.beta) std::swap(i, j);
        x += at(tables.of(i.beta == j.beta).hhp, (i.number * n_h + j.number) * n_p + a.number);
      }
      for (const Orbital& i : holes) {
        Orbital a = particles[q], b = particles[r];
        if (a.beta == b.beta && a.beta != i.beta) continue;
        if (a.beta != i.beta) std::swap(a, b);
        x -= at(tables.of(a.beta == b.beta).hpp, (i.number * n_p + a.number) * n_p + b.number);
      }
    }
  }
  return x;
}

}
