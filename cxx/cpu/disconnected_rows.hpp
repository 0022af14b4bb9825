#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cxx/base/vector_clones.hpp"
#include "cxx/cpu/energy_kernel.hpp"

/// Disconnected triples of the rows of a task, for the kernels that sum its energies.
namespace trifuse {

using Indices = std::array<std::int64_t, 6>;  ///< a, b, c, i, j, k, each counted from the begin of its tile

/// Returns true if the elements with these holes are zero by antisymmetry: two holes are equal in the spin-orbital
/// formulation, three in the spin-adapted one. Such elements are left out: in memory they are rounding errors, and
/// their denominators have no meaning.
template <int targets>
TRIFUSE_ALWAYS_INLINE bool vanishing_holes(const EnergyInput& in, const Indices& x) {
  const bool ij = in.equal_holes[0] && x[3] == x[4], jk = in.equal_holes[1] && x[4] == x[5];
  const bool ik = in.equal_holes[0] && in.equal_holes[1] && x[3] == x[5];
  return targets == 1 ? ij || jk || ik : ij && jk;
}

/// Returns true if the elements with these particles a and b are zero in the same way.
template <int targets>
TRIFUSE_ALWAYS_INLINE bool vanishing_pair(const EnergyInput& in, const Indices& x) {
  return targets == 1 && in.equal_particles[0] && x[0] == x[1];
}

/// Calls use(c) for the other elements that are zero in the same way, in the row of `length` elements that begins at
/// `x`; c counts from its begin.
template <int targets, int length, typename Use>
TRIFUSE_ALWAYS_INLINE void for_each_vanishing(const EnergyInput& in, const Indices& x, Use use) {
  const auto visit = [&](std::int64_t c) {
    if (c >= x[2] && c < x[2] + length) use(c - x[2]);
  };
  const bool ab = in.equal_particles[0] && x[0] == x[1];
  if (in.equal_particles[1] && (targets == 1 || ab)) visit(x[1]);
  if (targets == 1 && in.equal_particles[0] && in.equal_particles[1]) visit(x[0]);
}

/// A disconnected term for given i, j, k. The addresses already include these indices.
struct ResolvedTerm {
  const double* ov_tensor;
  const double* vvoo;
  double sign;
  int target, particle;
  int first, second;           ///< positions of the particles of vvoo
  std::int64_t second_extent;  ///< doubles from one value of the first particle to the next
};

/// Resolves disconnected terms of a task for the holes of `x`. `extent`: of a, b, c, i, j, k.
TRIFUSE_ALWAYS_INLINE void resolve(const std::vector<SinglesTerm>& singles, const std::array<std::int64_t, 6>& extent,
                                   const Indices& x, std::vector<ResolvedTerm>& terms) {
  terms.clear();
  for (const SinglesTerm& term : singles) {
    const auto at = [&](int position) { return static_cast<std::size_t>(position); };
    const auto [q1, q2] = term.vvoo_particles;
    const auto [r1, r2] = term.vvoo_holes;
    const std::int64_t pair_of_holes = x[at(3 + r2)] + extent[at(3 + r2)] * x[at(3 + r1)];
    terms.push_back({term.ov_tensor + x[at(3 + term.hole)] * term.ov_tensor_stride,
                     term.vvoo + extent[at(q1)] * extent[at(q2)] * pair_of_holes, term.sign, term.target, term.particle,
                     q1, q2, extent[at(q2)]});
  }
}

/// A term for one row: `factor` times a vector over c.
struct RowTerm {
  double factor;
  const double* vector;
};

TRIFUSE_ALWAYS_INLINE RowTerm term_of_row(const ResolvedTerm& term, const Indices& x) {
  const double* vvoo = term.vvoo + term.second_extent * x[static_cast<std::size_t>(term.first)];
  const bool c_alone = term.particle == 2;
  const double scale = c_alone ? vvoo[x[static_cast<std::size_t>(term.second)]]
                               : term.ov_tensor[x[static_cast<std::size_t>(term.particle)]];
  return {term.sign * scale, (c_alone ? term.ov_tensor : vvoo) + x[2]};
}

/// Computes the disconnected triples s[target] of all targets for the row of `length` consecutive c that begins at `x`.
/// Three terms of a target that stand in sequence are summed in registers.
template <int targets, int length>
TRIFUSE_ALWAYS_INLINE void add_terms(const std::vector<ResolvedTerm>& terms, const Indices& x,
                                     double (&of_targets)[6][length]) {
  bool begun[targets]{};
  const ResolvedTerm* term = terms.data();
  const ResolvedTerm* const end = term + terms.size();
  while (term != end) {
    double* __restrict s = of_targets[term->target];
    bool& add = begun[term->target];
    const RowTerm one = term_of_row(term[0], x);
    if (!add && end - term >= 3 && term[1].target == term->target && term[2].target == term->target) {
      const RowTerm two = term_of_row(term[1], x), three = term_of_row(term[2], x);
#pragma omp simd simdlen(8)
      for (int c = 0; c < length; ++c) {
        s[c] = one.factor * one.vector[c] + two.factor * two.vector[c] + three.factor * three.vector[c];
      }
      term += 3;
    } else {
      if (!add) std::fill_n(s, length, 0.0);
#pragma omp simd simdlen(8)
      for (int c = 0; c < length; ++c) s[c] += one.factor * one.vector[c];
      ++term;
    }
    add = true;
  }
  for (int t = 0; t < targets; ++t) {
    if (!begun[t]) std::fill_n(of_targets[t], length, 0.0);
  }
}

}
