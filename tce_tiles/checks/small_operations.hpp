#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "tce_tiles/tiles/tile_space.hpp"

/// Small operations of the equations of the single excitations and of Lambda. Spins are 0 for alpha and 1 for beta.
namespace trifuse {

template <typename Integer>
std::size_t at(Integer n) {
  return static_cast<std::size_t>(n);
}

constexpr OrbitalClass holes_of(int s) {
  return hole_class(s == 0 ? Spin::alpha : Spin::beta);
}

constexpr OrbitalClass particles_of(int s) {
  return particle_class(s == 0 ? Spin::alpha : Spin::beta);
}

/// to += factor * from, for all elements of `to`.
inline void add_scaled(double factor, const double* from, std::vector<double>& to) {
  for (std::size_t k = 0; k < to.size(); ++k) to[k] += factor * from[k];
}

/// Returns sum_k x[k] y[k]
inline double dot(std::int64_t count, const double* x, const double* y) {
  double sum = 0.0;
  for (std::int64_t k = 0; k < count; ++k) sum += x[k] * y[k];
  return sum;
}

/// out[c] += factor * sum_jb slab[j,c,b] w[j,b]
inline void contract_last(double factor, std::int64_t j_count, std::int64_t c_count, std::int64_t b_count,
                          const double* slab, const double* w, double* out) {
  for (std::int64_t j = 0; j < j_count; ++j, w += b_count) {
    for (std::int64_t c = 0; c < c_count; ++c, slab += b_count) out[c] += factor * dot(b_count, slab, w);
  }
}

/// out[c] += factor * sum_jb slab[j,b,c] w[j,b]
inline void contract_first(double factor, std::int64_t j_count, std::int64_t b_count, std::int64_t c_count,
                           const double* slab, const double* w, double* out) {
  for (std::int64_t jb = 0; jb < j_count * b_count; ++jb, slab += c_count) {
    for (std::int64_t c = 0; c < c_count; ++c) out[c] += factor * w[jb] * slab[c];
  }
}

}
