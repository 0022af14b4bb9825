#include "cxx/cpu/energy_kernel.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "cxx/base/vector_clones.hpp"
#include "cxx/cpu/disconnected_rows.hpp"
#include "cxx/triples/energy.hpp"

namespace trifuse {

namespace {

/// A row: the numerators of `length` consecutive c of one (i, j, k, a, b). The compiler knows the length, so that loops
/// consist of full vectors only.
template <int length>
struct Row {
  alignas(64) double singles[6][length];
  alignas(64) double e_bracket_t[length], e_paren_t[length], e_bracket_t_same[length], e_paren_t_same[length];
};

/// Computes the numerators of a row. `at`: index of its first element in the targets.
template <int targets, int length>
TRIFUSE_ALWAYS_INLINE void numerators(const EnergyInput& in, std::int64_t at, Row<length>& row) {
  const auto& s = row.singles;
  if constexpr (targets == 1) {
    const double* __restrict left = in.d_left[0] + at;
    const double* __restrict right = in.d_right[0] + at;
#pragma omp simd
    for (int c = 0; c < length; ++c) {
      const Energies n = spin_orbital_energies(left[c] * right[c], s[0][c] * right[c]);
      row.e_bracket_t[c] = n.e_bracket_t;
      row.e_paren_t[c] = n.e_paren_t;
    }
  } else {
    const double *l0 = in.d_left[0] + at, *l1 = in.d_left[1] + at, *l2 = in.d_left[2] + at, *l3 = in.d_left[3] + at,
                 *l4 = in.d_left[4] + at, *l5 = in.d_left[5] + at;
    const double *r0 = in.d_right[0] + at, *r1 = in.d_right[1] + at, *r2 = in.d_right[2] + at, *r3 = in.d_right[3] + at,
                 *r4 = in.d_right[4] + at, *r5 = in.d_right[5] + at;
#pragma omp simd
    for (int c = 0; c < length; ++c) {
      const Numerators n = spin_adapted_numerators({l0[c], l1[c], l2[c], l3[c], l4[c], l5[c]},
                                                   {s[0][c], s[1][c], s[2][c], s[3][c], s[4][c], s[5][c]},
                                                   {r0[c], r1[c], r2[c], r3[c], r4[c], r5[c]});
      row.e_bracket_t[c] = n.all.e_bracket_t;
      row.e_paren_t[c] = n.all.e_paren_t;
      row.e_bracket_t_same[c] = n.same.e_bracket_t;
      row.e_paren_t_same[c] = n.same.e_paren_t;
    }
  }
}

/// Adds the energies of a row. `rest`: Delta - 3 omega2 without the orbital energy of c.
template <int targets, int length>
TRIFUSE_ALWAYS_INLINE void divide(const Row<length>& row, const double* __restrict eps_c, double rest,
                                  TaskEnergy& energy) {
  double e_bracket_t = 0.0, e_paren_t = 0.0, e_bracket_t_same = 0.0, e_paren_t_same = 0.0;
#pragma omp simd reduction(+ : e_bracket_t, e_paren_t, e_bracket_t_same, e_paren_t_same)
  for (int c = 0; c < length; ++c) {
    // A denominator can be zero only if the numerator is zero: other input is refused before a run begins. A
    // denominator of zero becomes infinite, which prevents 0/0.
    const double denominator = rest - eps_c[c];
    const double inverse = 1.0 / (denominator == 0.0 ? std::numeric_limits<double>::infinity() : denominator);
    e_bracket_t += row.e_bracket_t[c] * inverse;
    e_paren_t += row.e_paren_t[c] * inverse;
    if constexpr (targets == 6) {
      e_bracket_t_same += row.e_bracket_t_same[c] * inverse;
      e_paren_t_same += row.e_paren_t_same[c] * inverse;
    }
  }
  energy.mixed += {e_bracket_t, e_paren_t};
  energy.same += {e_bracket_t_same, e_paren_t_same};
}

/// Adds the energies of the row of `length` elements that begins at `at`. `holes`: sum of the orbital energies of i, j,
/// k.
template <int targets, int length>
TRIFUSE_ALWAYS_INLINE void sum_row(const EnergyInput& in, const std::vector<ResolvedTerm>& terms, const Indices& x,
                                   std::int64_t at, double holes, std::span<const double> omega2,
                                   std::span<TaskEnergy> energies) {
  Row<length> row;
  add_terms<targets>(terms, x, row.singles);
  numerators<targets>(in, at, row);
  const auto leave_out = [&](std::int64_t c) {
    const std::int64_t at_c = c - x[2];
    if (at_c < 0 || at_c >= length) return;
    row.e_bracket_t[at_c] = row.e_paren_t[at_c] = row.e_bracket_t_same[at_c] = row.e_paren_t_same[at_c] = 0.0;
  };
  const bool ab = in.equal_particles[0] && x[0] == x[1];
  if (in.equal_particles[1] && (targets == 1 || ab)) leave_out(x[1]);
  if (targets == 1 && in.equal_particles[0] && in.equal_particles[1]) leave_out(x[0]);
  const double rest = holes - in.eps[0][x[0]] - in.eps[1][x[1]];
  for (std::size_t w = 0; w < omega2.size(); ++w) {
    divide<targets>(row, in.eps[2] + x[2], rest - denominator_shift(omega2[w]), energies[w]);
  }
}

template <int targets>
TRIFUSE_ALWAYS_INLINE void sum_task(const EnergyInput& in, std::span<const double> omega2,
                                    std::span<TaskEnergy> energies) {
  const auto& n = in.extent;
  const std::int64_t padded_c = row_length(n[2]);
  std::vector<ResolvedTerm> terms;
  terms.reserve(in.singles.size());
  Indices x{};
  std::int64_t at = 0;
  for (x[3] = 0; x[3] < n[3]; ++x[3])
    for (x[4] = 0; x[4] < n[4]; ++x[4])
      for (x[5] = 0; x[5] < n[5]; ++x[5]) {
        if (vanishing_holes<targets>(in, x)) {
          at += n[0] * n[1] * padded_c;
          continue;
        }
        resolve(in.singles, in.extent, x, terms);
        const double holes = in.eps[3][x[3]] + in.eps[4][x[4]] + in.eps[5][x[5]];
        for (x[0] = 0; x[0] < n[0]; ++x[0])
          for (x[1] = 0; x[1] < n[1]; ++x[1], at += padded_c) {
            if (targets == 1 && in.equal_particles[0] && x[0] == x[1]) continue;
            x[2] = 0;
            for (; x[2] + 16 <= padded_c; x[2] += 16) {
              sum_row<targets, 16>(in, terms, x, at + x[2], holes, omega2, energies);
            }
            if (x[2] < padded_c) sum_row<targets, 8>(in, terms, x, at + x[2], holes, omega2, energies);
          }
      }
}

TRIFUSE_VECTOR_CLONES
void sum_spin_orbital(const EnergyInput& in, std::span<const double> omega2, std::span<TaskEnergy> energies) {
  sum_task<1>(in, omega2, energies);
}

TRIFUSE_VECTOR_CLONES
void sum_spin_adapted(const EnergyInput& in, std::span<const double> omega2, std::span<TaskEnergy> energies) {
  sum_task<6>(in, omega2, energies);
}

}

void sum_energies(const EnergyInput& in, std::span<const double> omega2, std::span<TaskEnergy> energies) {
  std::fill(energies.begin(), energies.end(), TaskEnergy{});
  if (in.targets == 1) {
    sum_spin_orbital(in, omega2, energies);
  } else {
    sum_spin_adapted(in, omega2, energies);
  }
  for (TaskEnergy& energy : energies) {
    // The kernels return the energies of all spin cases in `mixed`. In the spin-adapted formulation they also return
    // the same-spin part in `same`.
    if (in.targets == 1 && in.same_spin) std::swap(energy.same, energy.mixed);
    if (in.targets == 6) energy.mixed -= energy.same;
    energy.same *= in.weight;
    energy.mixed *= in.weight;
  }
}

}
