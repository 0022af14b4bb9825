#include "cxx/cpu/energy_kernel.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "cxx/base/vector_clones.hpp"
#include "cxx/cpu/disconnected_rows.hpp"
#include "cxx/cpu/element_rows.hpp"
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

/// Computes the numerators of the row that begins at `x`.
template <int targets, int length>
TRIFUSE_ALWAYS_INLINE void numerators(const EnergyInput& in, const RowPlaces& places, const Indices& x,
                                      Row<length>& row) {
  const auto& s = row.singles;
  if constexpr (targets == 1) {
    const double* __restrict left = in.left[0].d[0] + places(in, 0, x);
    const double* __restrict right = in.d_right[0] + places(in, 0, x);
#pragma omp simd simdlen(8)
    for (int c = 0; c < length; ++c) {
      const Energies n = spin_orbital_energies(left[c] * right[c], s[0][c] * right[c]);
      row.e_bracket_t[c] = n.e_bracket_t;
      row.e_paren_t[c] = n.e_paren_t;
    }
  } else {
    const auto left = [&](std::size_t t) { return in.left[0].d[t] + places(in, t, x); };
    const auto right = [&](std::size_t t) { return in.d_right[t] + places(in, t, x); };
    const double *l0 = left(0), *l1 = left(1), *l2 = left(2), *l3 = left(3), *l4 = left(4), *l5 = left(5);
    const double *r0 = right(0), *r1 = right(1), *r2 = right(2), *r3 = right(3), *r4 = right(4), *r5 = right(5);
#pragma omp simd simdlen(8)
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

/// Sums of the energies of one omega2, one for each element of a vector of c. They are added up at the end of the task:
/// adding up the elements of each row takes as long as its numerators.
struct VectorSums {
  static constexpr int length = 8;
  alignas(64) double e_bracket_t[length]{}, e_paren_t[length]{}, e_bracket_t_same[length]{}, e_paren_t_same[length]{};
};

/// Adds the energies of a row, each `orders` times. `rest`: Delta - 3 omega2 without the orbital energy of c.
template <int targets, int length>
TRIFUSE_ALWAYS_INLINE void divide(const Row<length>& row, const double (&orders)[length],
                                  const double* __restrict eps_c, double rest, VectorSums& sums) {
  for (int first = 0; first < length; first += VectorSums::length) {
#pragma omp simd simdlen(8)
    for (int x = 0; x < VectorSums::length; ++x) {
      const int c = first + x;
      // A denominator can be zero only if the numerator is zero: other input is refused before a run begins. A
      // denominator of zero becomes infinite, which prevents 0/0.
      const double denominator = rest - eps_c[c];
      const double inverse = orders[c] / (denominator == 0.0 ? std::numeric_limits<double>::infinity() : denominator);
      sums.e_bracket_t[x] += row.e_bracket_t[c] * inverse;
      sums.e_paren_t[x] += row.e_paren_t[c] * inverse;
      if constexpr (targets == 6) {
        sums.e_bracket_t_same[x] += row.e_bracket_t_same[c] * inverse;
        sums.e_paren_t_same[x] += row.e_paren_t_same[c] * inverse;
      }
    }
  }
}

/// Sums the energies of one task, see visit_rows().
template <int targets>
class EnergyRows {
 public:
  EnergyRows(const EnergyInput& in, std::span<const double> omega2) : in_(in), omega2_(omega2), sums_(omega2.size()) {
    terms_.reserve(in.left[0].singles.size());
  }

  TRIFUSE_ALWAYS_INLINE bool begin_holes(const Indices& x, std::int64_t /*at*/, std::int64_t /*count*/) {
    if (vanishing_holes<targets>(in_, x)) return false;
    resolve(in_.left[0].singles, in_.extent, x, terms_);
    places_.set_holes(in_, x);
    holes_ = in_.eps[3][x[3]] + in_.eps[4][x[4]] + in_.eps[5][x[5]];
    orders_ = orders_of(in_.equal_holes, x[3], x[4], x[5]);
    return true;
  }
  TRIFUSE_ALWAYS_INLINE bool begin_row(const Indices& x, std::int64_t /*at*/, std::int64_t /*count*/) const {
    return !vanishing_pair<targets>(in_, x);
  }
  template <int length>
  TRIFUSE_ALWAYS_INLINE void add(const Indices& x, std::int64_t /*at*/) {
    Row<length> row;
    add_terms<targets>(terms_, x, row.singles);
    numerators<targets>(in_, places_, x, row);
    for_each_vanishing<targets, length>(in_, x, [&](std::int64_t c) {
      row.e_bracket_t[c] = row.e_paren_t[c] = row.e_bracket_t_same[c] = row.e_paren_t_same[c] = 0.0;
    });
    alignas(64) double orders[length];
    count_orders(in_, orders_, x, orders);
    const double rest = holes_ - in_.eps[0][x[0]] - in_.eps[1][x[1]];
    for (std::size_t w = 0; w < omega2_.size(); ++w)
      divide<targets>(row, orders, in_.eps[2] + x[2], rest - denominator_shift(omega2_[w]), sums_[w]);
  }
  TRIFUSE_ALWAYS_INLINE void end_holes(const Indices& /*x*/) const {}
  /// Adds the sums of all rows to energies[omega2].
  TRIFUSE_ALWAYS_INLINE void finish(std::span<TaskEnergy> energies) const {
    for (std::size_t w = 0; w < sums_.size(); ++w) {
      for (int c = 0; c < VectorSums::length; ++c) {
        energies[w].mixed += {sums_[w].e_bracket_t[c], sums_[w].e_paren_t[c]};
        energies[w].same += {sums_[w].e_bracket_t_same[c], sums_[w].e_paren_t_same[c]};
      }
    }
  }

 private:
  const EnergyInput& in_;
  const std::span<const double> omega2_;
  std::vector<VectorSums> sums_;  ///< [omega2]
  std::vector<ResolvedTerm> terms_;
  RowPlaces places_;
  double holes_ = 0.0;   ///< sum of the orbital energies of i, j, k
  double orders_ = 0.0;  ///< see orders_of(), of i, j, k
};

template <int targets>
TRIFUSE_ALWAYS_INLINE void sum_task(const EnergyInput& in, std::span<const double> omega2,
                                    std::span<TaskEnergy> energies) {
  EnergyRows<targets> rows(in, omega2);
  visit_rows<16, Visited::ascending>(in, rows);
  rows.finish(energies);
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
