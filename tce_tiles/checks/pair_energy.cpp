#include "tce_tiles/checks/pair_energy.hpp"

#include <algorithm>

namespace trifuse {

PairWeights pair_weights(const ArraySpec& ovov, bool restricted) {
  if (restricted) return {2.0, 1.0, 0.0};
  if (ovov.first != ovov.second) return {1.0, 0.0, 0.0};
  // For equal spins, the sum over ordered pairs i, j and a, b counts every term four times.
  return {0.25, ovov.antisymmetrised ? 0.0 : 0.25, 1.0};
}

double pair_energy(const PairWeights& weights, const PairNumbers& n) {
  // The exchange integrals are read across the rows of v2. Small squares of a and b keep both in the cache.
  constexpr std::int64_t edge = 32;
  double energy = 0.0;
  for (std::int64_t a_from = 0; a_from < n.a_size; a_from += edge) {
    const std::int64_t a_to = std::min(a_from + edge, n.a_size);
    for (std::int64_t b_from = 0; b_from < n.b_size; b_from += edge) {
      const std::int64_t count = std::min(edge, n.b_size - b_from);
      double sums[edge] = {};
      for (std::int64_t a = a_from; a < a_to; ++a) {
        double v[edge], tau[edge];
        const double* direct = n.v2 + a * n.v2_row + b_from;
        const double* t2 = n.t2 + a * n.b_size + b_from;
        for (std::int64_t b = 0; b < count; ++b) v[b] = weights.direct * direct[b];
        for (std::int64_t b = 0; b < count; ++b) tau[b] = t2[b] + n.t1_i[a] * n.t1_j[b_from + b];
        if (weights.exchange != 0.0) {
          const double* exchange = n.v2 + b_from * n.v2_row + a;
          for (std::int64_t b = 0; b < count; ++b) v[b] -= weights.exchange * exchange[b * n.v2_row];
        }
        if (weights.exchanged_singles != 0.0) {
          for (std::int64_t b = 0; b < count; ++b) {
            tau[b] -= weights.exchanged_singles * n.t1_i[b_from + b] * n.t1_j[a];
          }
        }
        for (std::int64_t b = 0; b < count; ++b) sums[b] += v[b] * tau[b];
      }
      double sum = 0.0;
      for (const double each : sums) sum += each;
      energy += sum;
    }
  }
  return energy;
}

double singles_energy(std::span<const double> fock, std::span<const double> t1, std::int64_t o, std::int64_t v) {
  double sum = 0.0;
  for (std::int64_t i = 0; i < o; ++i) {
    for (std::int64_t a = 0; a < v; ++a) {
      sum += fock[static_cast<std::size_t>((o + a) * (o + v) + i)] * t1[static_cast<std::size_t>(i * v + a)];
    }
  }
  return sum;
}

void add_squares(const PairNumbers& n, bool antisymmetrise, DoublesSums& sums) {
  double t2_t2 = 0.0, v_v = 0.0;
  for (std::int64_t a = 0; a < n.a_size; ++a) {
    const double *const t2 = n.t2 + a * n.b_size, *const direct = n.v2 + a * n.v2_row;
    for (std::int64_t b = 0; b < n.b_size; ++b) {
      const double v = direct[b] - (antisymmetrise ? n.v2[b * n.v2_row + a] : 0.0);
      t2_t2 += t2[b] * t2[b];
      v_v += v * v;
    }
  }
  sums.t2_t2 += t2_t2;
  sums.v_v += v_v;
}

void add_first_order(const PairNumbers& n, double e_ij, std::span<const double> eps_a, std::span<const double> eps_b,
                     DoublesSums& sums) {
  for (std::int64_t a = 0; a < n.a_size; ++a) {
    const double e_ija = e_ij - eps_a[static_cast<std::size_t>(a)];
    double squares = 0.0, products = 0.0;
    for (std::int64_t b = 0; b < n.b_size; ++b) {
      const double amplitude = n.t2[a * n.b_size + b];
      squares += amplitude * amplitude * (e_ija - eps_b[static_cast<std::size_t>(b)]);
      products += amplitude * n.v2[a * n.v2_row + b];
    }
    sums.t2_d_t2 += squares;
    sums.t2_v += products;
  }
}

}
