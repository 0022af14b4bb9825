#include "cxx/cpu/quotient_kernel.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "cxx/base/vector_clones.hpp"
#include "cxx/cpu/denominator_rows.hpp"
#include "cxx/cpu/disconnected_rows.hpp"
#include "cxx/cpu/element_rows.hpp"
#include "cxx/triples/energy.hpp"
#include "cxx/triples/terms.hpp"

namespace trifuse {

namespace {

constexpr int length = 8;  ///< of a row: consecutive c of one (i, j, k, a, b)

using RowsOfTargets = std::array<const double*, 6>;

/// Spin elements of an element: one in the spin-orbital formulation; else aaa, and then those of `mixed_elements`.
template <int targets>
constexpr int element_count = targets == 1 ? 1 : spin_element_count;

/// The numerators of a row for one right factor.
template <int targets>
struct NumeratorRows {
  struct Row {
    alignas(64) double e_bracket_t[length], e_paren_t[length];
  };
  Row elements[element_count<targets>];
  Row mixed;  ///< sum over all elements but the first
};

/// The spin elements of the amplitudes of a row.
template <int targets>
struct ElementRows {
  alignas(64) double amplitude[element_count<targets>][length];
};

template <int targets>
TRIFUSE_ALWAYS_INLINE void set_elements(const RowsOfTargets& w, ElementRows<targets>& x) {
#pragma omp simd
  for (int c = 0; c < length; ++c) {
    if constexpr (targets == 1) {
      x.amplitude[0][c] = w[0][c];
    } else {
      const auto all = spin_elements<double>({w[0][c], w[1][c], w[2][c], w[3][c], w[4][c], w[5][c]});
      for (int n = 0; n < spin_element_count; ++n) x.amplitude[n][c] = all.amplitude[n];
    }
  }
}

template <int targets>
TRIFUSE_ALWAYS_INLINE void set_numerators(const ElementRows<targets>& d_left, const ElementRows<targets>& s_left,
                                          const ElementRows<targets>& right, const double (&orders)[length],
                                          NumeratorRows<targets>& numerators) {
  for (int n = 0; n < element_count<targets>; ++n) {
    auto& row = numerators.elements[n];
#pragma omp simd
    for (int c = 0; c < length; ++c) {
      const double d = d_left.amplitude[n][c], s = s_left.amplitude[n][c], y = right.amplitude[n][c];
      const Energies x = targets == 1 ? spin_orbital_energies(d * y, s * y) : spin_element_numerators(d, s, y);
      row.e_bracket_t[c] = orders[c] * x.e_bracket_t;
      row.e_paren_t[c] = orders[c] * x.e_paren_t;
    }
  }
}

/// Sums of energies, one for each position in a row. They are added up at the end.
struct RowSums {
  alignas(64) double e_bracket_t[length] = {}, e_paren_t[length] = {};

  Energies total() const {
    Energies sum;
    for (int c = 0; c < length; ++c) sum += {e_bracket_t[c], e_paren_t[c]};
    return sum;
  }
};

/// Replaces the denominators of a row by their reciprocals.
TRIFUSE_ALWAYS_INLINE void invert(double (&x)[length]) {
#pragma omp simd
  for (int c = 0; c < length; ++c) {
    // See energy_kernel.cpp: the numerator of a denominator of zero is zero.
    x[c] = 1.0 / (x[c] == 0.0 ? std::numeric_limits<double>::infinity() : x[c]);
  }
}

/// Adds the energies of a row of numerators with these reciprocals of denominators.
template <typename Row>
TRIFUSE_ALWAYS_INLINE void add_products(const Row& row, const double (&inverse)[length], RowSums& sums) {
#pragma omp simd
  for (int c = 0; c < length; ++c) {
    sums.e_bracket_t[c] += row.e_bracket_t[c] * inverse[c];
    sums.e_paren_t[c] += row.e_paren_t[c] * inverse[c];
  }
}

/// Sums the energies of one task.
template <int targets>
class QuotientSums {
 public:
  QuotientSums(const EnergyInput& in, std::span<const Quotient> quotients)
      : in_(in), quotients_(quotients), sums_(quotients.size()) {
    for (const Quotient& quotient : quotients) {
      wanted_[number_of_left(quotient)][static_cast<std::size_t>(quotient.right)] = true;
      std::optional<DenominatorRows>& rows = denominators_.emplace_back();
      if (!quotient.of_tables()) continue;
      rows.emplace(*in.denominators, quotient.denominator, std::array{in.first[0], in.first[1], in.first[2]},
                   std::array{in.extent[0], in.extent[1], in.extent[2]}, targets == 6);
    }
  }

  // The functions of visit_rows(). Elements that are zero are left out for each spin element.
  TRIFUSE_ALWAYS_INLINE bool begin_holes(const Indices& x, std::int64_t /*at*/, std::int64_t /*count*/) {
    for (std::size_t n = 0; n < left_sides(); ++n) resolve(in_.left[n].singles, in_.extent, x, s_terms_[n]);
    resolve(in_.c3, in_.extent, x, c3_terms_);
    places_.set_holes(in_, x);
    const bool ij = in_.equal_holes[0] && x[3] == x[4], jk = in_.equal_holes[1] && x[4] == x[5];
    const std::array equal = {jk, in_.equal_holes[0] && in_.equal_holes[1] && x[3] == x[5], ij};
    equal_holes_ = equal[0] || equal[1] || equal[2];
    for (int n = 0; n < element_count<targets>; ++n) {
      const int beta = n == 0 ? -1 : mixed_elements[static_cast<std::size_t>(n - 1)].hole;
      bool& zero = zero_for_holes_[static_cast<std::size_t>(n)];
      zero = false;
      for (int position = 0; position < 3; ++position)
        zero = zero || (equal[static_cast<std::size_t>(position)] && equal_spins(beta, position));
    }
    orders_of_holes_ = orders_of(in_.equal_holes, x[3], x[4], x[5]);
    of_holes_ = in_.eps[3][x[3]] + in_.eps[4][x[4]] + in_.eps[5][x[5]];
    for (auto& rows : denominators_) {
      if (rows) rows->set_holes({in_.first[3] + x[3], in_.first[4] + x[4], in_.first[5] + x[5]});
    }
    return true;
  }
  TRIFUSE_ALWAYS_INLINE bool begin_row(const Indices& /*x*/, std::int64_t /*at*/, std::int64_t /*count*/) const {
    return true;
  }
  TRIFUSE_ALWAYS_INLINE void end_holes(const Indices& /*x*/) const {}
  template <int of_row>
  TRIFUSE_ALWAYS_INLINE void add(const Indices& x, std::int64_t /*at*/) {
    static_assert(of_row == length);
    count_orders(in_, orders_of_holes_, x, orders_);
    alignas(64) double disconnected[6][length];
    const RowsOfTargets of_disconnected = {disconnected[0], disconnected[1], disconnected[2],
                                           disconnected[3], disconnected[4], disconnected[5]};
    const auto at_row = [&](const RowsOfTargets& targets_of_side) {
      RowsOfTargets rows{};
      for (std::size_t t = 0; t < targets; ++t) rows[t] = targets_of_side[t] + places_(in_, t, x);
      return rows;
    };
    ElementRows<targets> right, c3;
    set_elements(at_row(in_.d_right), right);
    if (!c3_terms_.empty()) {
      add_terms<targets>(c3_terms_, x, disconnected);
      // Behind the last c of a row, the tensors have any numbers.
      for (auto& row : disconnected)
        std::fill(row + std::clamp<std::int64_t>(in_.extent[2] - x[2], 0, length), row + length, 0.0);
      set_elements(of_disconnected, c3);
    }
    for (std::size_t n = 0; n < left_sides(); ++n) {
      ElementRows<targets> d_left, s_left;
      set_elements(at_row(in_.left[n].d), d_left);
      add_terms<targets>(s_terms_[n], x, disconnected);
      set_elements(of_disconnected, s_left);
      add_quotients(n, RightFactor::connected, d_left, s_left, right, x);
      if (!c3_terms_.empty()) add_quotients(n, RightFactor::disconnected, d_left, s_left, c3, x);
      add_quotients(n, RightFactor::left, d_left, s_left, d_left, x);
    }
  }

  /// Writes the sums over all rows, energies[quotient].
  void finish(std::span<TaskEnergy> energies) const {
    for (std::size_t w = 0; w < sums_.size(); ++w) energies[w] = {sums_[w].same.total(), sums_[w].mixed.total()};
  }

 private:
  struct BySpins {
    RowSums same, mixed;  ///< as in TaskEnergy; in the spin-orbital formulation all are in `same`
  };

  std::size_t left_sides() const { return static_cast<std::size_t>(in_.left_sides); }
  static std::size_t number_of_left(const Quotient& quotient) { return quotient.left == Side::left ? 0 : 1; }

  /// Adds the energies of the quotients of a left side with this right factor.
  TRIFUSE_ALWAYS_INLINE void add_quotients(std::size_t side, RightFactor factor, const ElementRows<targets>& d_left,
                                           const ElementRows<targets>& s_left, const ElementRows<targets>& right,
                                           const Indices& x) {
    if (!wanted_[side][static_cast<std::size_t>(factor)]) return;
    NumeratorRows<targets> numerators;
    set_numerators(d_left, s_left, right, orders_, numerators);
    leave_out_zeros(x, numerators);
    sum_mixed(numerators);
    for (std::size_t w = 0; w < quotients_.size(); ++w) {
      const Quotient& quotient = quotients_[w];
      if (quotient.right != factor || number_of_left(quotient) != side) continue;
      BySpins& energy = sums_[w];
      alignas(64) double inverse[length];
      if (quotient.of_tables()) {
        for (int n = 0; n < element_count<targets>; ++n) {
          set_denominators(*denominators_[w], n, x, inverse);
          invert(inverse);
          add_products(numerators.elements[n], inverse, n == 0 ? energy.same : energy.mixed);
        }
        continue;
      }
      if (quotient.denominator == Denominator::one) {
        std::fill_n(inverse, length, 1.0);
      } else {
        set_denominators(quotient.omega2, x, inverse);
        invert(inverse);
      }
      add_products(numerators.elements[0], inverse, energy.same);
      if constexpr (targets == 6) add_products(numerators.mixed, inverse, energy.mixed);
    }
  }

  /// Sets the numerators to zero in which two equal orbitals have equal spins. They are zero by antisymmetry, and in
  /// memory they are rounding errors.
  TRIFUSE_ALWAYS_INLINE void leave_out_zeros(const Indices& x, NumeratorRows<targets>& numerators) const {
    const bool ab = in_.equal_particles[0] && x[0] == x[1];
    const auto place_of = [&](std::int64_t c, bool equal) {
      return equal && c >= x[2] && c < x[2] + length ? c - x[2] : -1;
    };
    const std::int64_t like_a = place_of(x[0], in_.equal_particles[0] && in_.equal_particles[1]),
                       like_b = place_of(x[1], in_.equal_particles[1]);
    if (!ab && like_a < 0 && like_b < 0 && !equal_holes_) return;
    for (int n = 0; n < element_count<targets>; ++n) {
      auto& row = numerators.elements[n];
      const int beta = n == 0 ? -1 : mixed_elements[static_cast<std::size_t>(n - 1)].particle;
      if (zero_for_holes_[static_cast<std::size_t>(n)] || (ab && equal_spins(beta, 2))) row = {};
      if (like_a >= 0 && equal_spins(beta, 1)) row.e_bracket_t[like_a] = row.e_paren_t[like_a] = 0.0;
      if (like_b >= 0 && equal_spins(beta, 0)) row.e_bracket_t[like_b] = row.e_paren_t[like_b] = 0.0;
    }
  }
  /// Returns true if the two orbitals at positions other than `position` have equal spins. `beta`: position of the only
  /// orbital with the spin beta, or -1.
  static constexpr bool equal_spins(int beta, int position) { return beta < 0 || beta == position; }

  static TRIFUSE_ALWAYS_INLINE void sum_mixed(NumeratorRows<targets>& numerators) {
    numerators.mixed = {};
    for (int n = 1; n < element_count<targets>; ++n) {
#pragma omp simd
      for (int c = 0; c < length; ++c) {
        numerators.mixed.e_bracket_t[c] += numerators.elements[n].e_bracket_t[c];
        numerators.mixed.e_paren_t[c] += numerators.elements[n].e_paren_t[c];
      }
    }
  }

  /// Writes the denominators of a row that come from tables.
  static TRIFUSE_ALWAYS_INLINE void set_denominators(const DenominatorRows& rows, int element, const Indices& x,
                                                     double (&denominators)[length]) {
    int hole = -1, particle = -1;
    if (element > 0) {
      const MixedElement& mixed = mixed_elements[static_cast<std::size_t>(element - 1)];
      hole = mixed.hole;
      particle = mixed.particle;
    }
    const DenominatorRow row = rows.row(hole, particle, x[0], x[1], x[2]);
    const double* __restrict p = row.p, * __restrict q_a = row.q_a, * __restrict q_b = row.q_b;
#pragma omp simd
    for (int c = 0; c < length; ++c) denominators[c] = row.base + p[c] + q_a[c] + q_b[c];
  }

  /// Writes the denominators Delta - 3 omega2 of a row, which all spin elements have.
  TRIFUSE_ALWAYS_INLINE void set_denominators(double omega2, const Indices& x, double (&denominators)[length]) const {
    const double rest = of_holes_ - in_.eps[0][x[0]] - in_.eps[1][x[1]] - denominator_shift(omega2);
    const double* __restrict eps_c = in_.eps[2] + x[2];
#pragma omp simd
    for (int c = 0; c < length; ++c) denominators[c] = rest - eps_c[c];
  }

  const EnergyInput& in_;
  const std::span<const Quotient> quotients_;
  std::vector<BySpins> sums_;                                 ///< [quotient]
  std::vector<std::optional<DenominatorRows>> denominators_;  ///< [quotient]; empty if it has no tables
  bool wanted_[max_left_sides][3] = {};                       ///< [left side][RightFactor]: a quotient has them
  std::vector<ResolvedTerm> s_terms_[max_left_sides], c3_terms_;
  bool equal_holes_ = false;                               ///< true if two holes are equal
  std::array<bool, spin_element_count> zero_for_holes_{};  ///< [spin element]: two equal holes have equal spins
  RowPlaces places_;
  double of_holes_ = 0.0;                   ///< sum of the orbital energies of the holes
  double orders_of_holes_ = 0.0;            ///< see orders_of()
  alignas(64) double orders_[length] = {};  ///< of the elements of a row, see count_orders()
};

template <int targets>
TRIFUSE_ALWAYS_INLINE void sum_task(const EnergyInput& in, std::span<const Quotient> quotients,
                                    std::span<TaskEnergy> energies) {
  QuotientSums<targets> sums(in, quotients);
  visit_rows<length, Visited::ascending>(in, sums);
  sums.finish(energies);
}

TRIFUSE_VECTOR_CLONES
void sum_spin_orbital(const EnergyInput& in, std::span<const Quotient> quotients, std::span<TaskEnergy> energies) {
  sum_task<1>(in, quotients, energies);
}

TRIFUSE_VECTOR_CLONES
void sum_spin_adapted(const EnergyInput& in, std::span<const Quotient> quotients, std::span<TaskEnergy> energies) {
  sum_task<6>(in, quotients, energies);
}

}

void sum_quotients(const EnergyInput& in, std::span<const Quotient> quotients, std::span<TaskEnergy> energies) {
  if (in.targets == 1) {
    sum_spin_orbital(in, quotients, energies);
  } else {
    sum_spin_adapted(in, quotients, energies);
  }
  for (TaskEnergy& energy : energies) {
    // The first spin element has equal spins, except that of a mixed task of spin orbitals.
    if (in.targets == 1 && !in.same_spin) std::swap(energy.same, energy.mixed);
    energy.same *= in.weight;
    energy.mixed *= in.weight;
  }
}

}
